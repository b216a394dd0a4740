-- What is near a page by permuted tables: the representatives within the distance.
--
-- ARGV 7: the fingerprint, 8 bytes, for each bucket from the third on; there is one for each table.
-- Empty: the page is near no other.  An entry is a fingerprint, and the id of its page.

local FINGERPRINT = string.sub(ARGV[7], 1, 8)

-- At most this many entries are compared, in 4 ms.  Crafted pages could have any number with one key.
local MOST_COMPARED, WIDTH = 20000, 12

local DISTANCES = %DISTANCES%

-- Returns the distances of a byte of the fingerprint to all 256 bytes.
local function distances_from(place)
  local begin = string.byte(FINGERPRINT, place) * 256
  return { string.byte(DISTANCES, begin + 1, begin + 256) }
end

-- Returns the ids, the closest first, then the oldest, and 1 if there may be others.
local function near_by()
  local left, left_out, sorted, d = MOST_COMPARED * WIDTH, 0, {}, {}
  for place = 1, #FINGERPRINT do d[place] = distances_from(place) end
  local d1, d2, d3, d4, d5, d6, d7, d8 = unpack(d)
  local near, byte = {}, string.byte
  for place = 3, #names do
    local entries = bucket(names[place])
    if #entries > left or #entries >= MOST_BYTES then left_out = 1 end
    for at = 1, math.min(#entries, left), WIDTH do
      local b1, b2, b3, b4, b5, b6, b7, b8 = byte(entries, at, at + 7)
      local sum = d1[b1 + 1] + d2[b2 + 1] + d3[b3 + 1] + d4[b4 + 1]
      if sum <= distance then
        sum = sum + d5[b5 + 1] + d6[b6 + 1] + d7[b7 + 1] + d8[b8 + 1]
        if sum <= distance then near[id_at(entries, at + 8)] = sum end
      end
    end
    left = math.max(0, left - #entries)
  end
  for id, sum in pairs(near) do sorted[#sorted + 1] = sum * 4294967296 + id end
  table.sort(sorted)
  return ids_of(sorted), left_out
end

local function put_near(id)
  for place = 3, #names do
    if #bucket(names[place]) < MOST_BYTES then put(names[place], FINGERPRINT .. id) end
  end
end
