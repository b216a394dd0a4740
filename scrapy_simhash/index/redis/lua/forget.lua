-- Removes a page, if it has not changed since the caller has seen it.  If it is a representative with
-- a group, the oldest page of that takes its place: its id, to which the others of the group point.
--
-- ARGV: 1 The id of the page, and its last change.  2 The entries to cut from buckets.  3 The id
-- and the last change of the oldest page of its group; empty: the group is empty.  4 The entries to
-- put into buckets for that page.
-- Returns 1 if that was done, otherwise 0.

local id, heir = string.sub(ARGV[1], 1, 4), string.sub(ARGV[3], 1, 4)

local function is_as_seen(seen)
  local page = redis.call('HGET', KEYS[1], string.sub(seen, 1, 4))
  return page and change_of(page) == string.sub(seen, 5) and page
end

local page, next = is_as_seen(ARGV[1]), heir ~= '' and is_as_seen(ARGV[3])
local last = '[' .. id .. '\255\255\255\255'
local oldest = redis.call('ZRANGE', KEYS[3], '[' .. id, last, 'BYLEX', 'LIMIT', 0, 1)[1]
if not page or string.sub(oldest or '', 5) ~= heir then return 0 end
if heir ~= '' and not next then return 0 end

for_each(ARGV[2], cut)
local representative = representative_of(page)
if representative ~= NONE then leave_group(representative, id) end
if heir == '' then
  redis.call('HDEL', KEYS[1], id)
else
  redis.call('HDEL', KEYS[1], heir)
  redis.call('HSET', KEYS[1], id, next_change() .. NONE
    .. string.sub(without_crawls(next), REPRESENTATIVE_END + 1))
  leave_group(id, heir)
  for_each(ARGV[4], put)
end
store_buckets()
return 1
