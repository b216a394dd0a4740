-- Removes a page, if it has not changed since the caller has seen it.  If it is a representative,
-- the oldest page of its group takes its place.
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

local page = is_as_seen(ARGV[1])
if not page or string.sub(bucket(group_of(id)), 1, 4) ~= heir then return 0 end
if heir ~= '' and not is_as_seen(ARGV[3]) then return 0 end

redis.call('HDEL', KEYS[1], id)
for_each(ARGV[2], cut)
local representative = representative_of(page)
if representative ~= NONE then
  cut(group_of(representative), id)
  count_duplicates(-1)
elseif heir ~= '' then
  local group, change = bucket(group_of(id)), next_change()
  for at = 1, #group, 4 do
    local other = string.sub(group, at, at + 3)
    local old = redis.call('HGET', KEYS[1], other)
    local new
    if other == heir then
      new = NONE .. string.sub(old, REPRESENTATIVE_END + 1, CRAWL - 1) .. NONE .. string.sub(old, CRAWL_END + 1)
    else
      new = heir .. string.sub(old, REPRESENTATIVE_END + 1)
    end
    redis.call('HSET', KEYS[1], other, change .. new)
    if other ~= heir then put(group_of(heir), other) end
  end
  known[group_of(id)] = ''
  changed[group_of(id)] = true
  for_each(ARGV[4], put)
  count_duplicates(-1)
end
store_buckets()
return 1
