-- Removes a page, or stores another in its place, if it has not changed since the caller has seen it.
--
-- ARGV: 1 The id of the page, and its last change.  2 The page to store there; empty: none.  3 The
-- entries to cut from buckets.  4 The id and the last change of the oldest page of its group, which is
-- the one to store: the others of the group point to it then; empty: the page is removed without a
-- group, or stays in its place.  5 The entries to put into buckets.
-- Returns 1 if that was done, otherwise 0.

local id, heir = string.sub(ARGV[1], 1, 4), string.sub(ARGV[4], 1, 4)

local function page_seen(seen)
  local page = redis.call('HGET', KEYS[1], string.sub(seen, 1, 4))
  return page and change_of(page) == string.sub(seen, 5) and page
end

local page, stays = page_seen(ARGV[1]), heir == '' and ARGV[2] ~= ''
local last = '[' .. id .. '\255\255\255\255'
local oldest = redis.call('ZRANGE', KEYS[3], '[' .. id, last, 'BYLEX', 'LIMIT', 0, 1)[1] or ''
if not page or not (stays or string.sub(oldest, 5) == heir) then return 0 end
if heir ~= '' and not page_seen(ARGV[4]) then return 0 end

for_each(ARGV[3], cut)
if not stays and representative_of(page) ~= NONE then leave_group(representative_of(page), id) end
if heir ~= '' then
  redis.call('HDEL', KEYS[1], heir)
  leave_group(id, heir)
end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], id)
else
  redis.call('HSET', KEYS[1], id, next_change() .. string.sub(ARGV[2], CHANGE_END + 1))
end
for_each(ARGV[5], put)
store_buckets()
return 1
