-- Returns the pages of a span of ids without their sketches: ids and pages, in turns.
--
-- ARGV: 1 and 2 The first and the last id.  3 Only pages judged before this time; empty: all.

local before = tonumber(ARGV[3])
local found = {}
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local id = struct.pack('>I4', number)
  local page = redis.call('HGET', KEYS[1], id)
  if page and (not before or struct.unpack('>I4', page, 21) < before) then
    local there_is, request_length, url_length = struct.unpack('>BBI2', page, 49)
    found[#found + 1] = id
    found[#found + 1] = string.sub(page, 1, 52 + there_is % 2 * 8 + request_length + url_length)
  end
end
return found
