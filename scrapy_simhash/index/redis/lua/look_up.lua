-- Reads the buckets in which add_page.lua and the file between (near_tables.lua or near_keys.lua)
-- look for a page, at once.  ARGV: see add_page.lua.

local most, distance = tonumber(ARGV[2]), tonumber(ARGV[3])
local names = { struct.unpack(string.rep('c4', #ARGV[4] / 4), ARGV[4]) }
names[#names] = nil -- the last value of unpack is a position
local read = redis.call('HMGET', KEYS[2], unpack(names))
for place, name in ipairs(names) do known[name] = read[place] or '' end

-- An entry of a request, a text or a key begins with a check of this many bytes of its hash, which
-- few others share.
local CHECK = 2

-- The page of an id, false if it is not there: a server that evicts keys may have lost it.
local pages_known = {}
local function page(id)
  if pages_known[id] == nil then pages_known[id] = redis.call('HGET', KEYS[1], id) end
  return pages_known[id]
end

-- Returns the ids whose rows are there, at most as many as asked for, from sorted numbers, of which
-- the lower 32 bits are an id.
local function ids_of(sorted)
  local ids = {}
  for _, number in ipairs(sorted) do
    if #ids == most then break end
    local id = struct.pack('>I4', number % 4294967296)
    if page(id) then ids[#ids + 1] = id end
  end
  return ids
end

-- At most this many pages are found by one text or key, and no bucket is longer than this.  All the
-- buckets that a page reads have at most 1 MB together, read in 4 ms.
local MOST_OF_A_CHECK, MOST_BYTES = 100, math.min(65536, math.floor(1048576 / #names))

local function has_room(field, check)
  local entries, count = bucket(field), 0
  if #entries >= MOST_BYTES then return false end
  for _ in each(entries, CHECK + 4, check) do count = count + 1 end
  return count < MOST_OF_A_CHECK
end
