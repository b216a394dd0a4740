-- What is near a page by the keys of its sketch: the representatives with one of them.
--
-- ARGV 7: the checks of the keys, side by side; there is one for each bucket from the third on.

-- A page is found by this many of its keys: the first ones with room.
local KEYS_OF_A_PAGE = 4

local function check_of(place)
  return string.sub(ARGV[7], CHECK * (place - 3) + 1, CHECK * (place - 2))
end

-- Returns the ids, those with most keys in common first, then the oldest, and 1 if there may be
-- others: each of the keys, or its bucket, is full.
local function near_by()
  local shared, left_out = {}, #names > 2 and 1 or 0
  for place = 3, #names do
    local entries, count = bucket(names[place]), 0
    for at in each(entries, CHECK + 4, check_of(place)) do
      local id = id_at(entries, at + CHECK)
      shared[id] = (shared[id] or 0) + 1
      count = count + 1
    end
    if count < MOST_OF_A_CHECK and #entries < MOST_BYTES then left_out = 0 end
  end
  local sorted = {}
  for id, count in pairs(shared) do sorted[#sorted + 1] = id - count * 4294967296 end
  table.sort(sorted)
  return ids_of(sorted), left_out
end

local function put_near(id)
  local put_so_far = 0
  for place = 3, #names do
    local check = check_of(place)
    if has_room(names[place], check) then
      put(names[place], check .. id)
      put_so_far = put_so_far + 1
      if put_so_far == KEYS_OF_A_PAGE then return end
    end
  end
end
