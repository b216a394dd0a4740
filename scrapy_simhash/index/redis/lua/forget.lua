-- Removes a page, if it is as the caller has seen it: of a representative, the oldest of its group
-- takes the place.
--
-- ARGV: 1 The id of the page, and its last change.  2 What to cut from buckets.  3 The id and the
-- last change of the oldest of its group; empty: the group is.  4 What to put into buckets for it.
-- Returns whether that was done.

local id, heir = string.sub(ARGV[1], 1, 4), string.sub(ARGV[3], 1, 4)

local function is_as_seen(seen)
  local page = redis.call('HGET', KEYS[1], string.sub(seen, 1, 4))
  return page and string.sub(page, 1, 4) == string.sub(seen, 5) and page
end

local page = is_as_seen(ARGV[1])
if not page or string.sub(bucket(group_of(id)), 1, 4) ~= heir then return 0 end
if heir ~= '' and not is_as_seen(ARGV[3]) then return 0 end

redis.call('HDEL', KEYS[1], id)
for_each(ARGV[2], cut)
local representative = string.sub(page, 5, 8)
if representative ~= NONE then
  cut(group_of(representative), id)
  count_duplicates(-1)
elseif heir ~= '' then
  local group, change = bucket(group_of(id)), next_change()
  for at = 1, #group, 4 do
    local other = string.sub(group, at, at + 3)
    local old = redis.call('HGET', KEYS[1], other)
    local new = other == heir and NONE .. string.sub(old, 9, 12) .. NONE .. string.sub(old, 17)
      or heir .. string.sub(old, 9)
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
