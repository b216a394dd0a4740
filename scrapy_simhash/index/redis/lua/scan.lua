-- Returns the pages of a span of ids without their sketches: ids and pages alternate.
--
-- ARGV: 1 and 2 The first and the last id.

local found = {}
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local id = struct.pack('>I4', number)
  local page = redis.call('HGET', KEYS[1], id)
  if page then
    local without_sketch = #page - struct.unpack('>I2', page, SKETCH_LENGTH)
    found[#found + 1] = id
    found[#found + 1] = string.sub(page, 1, without_sketch)
  end
end
return found
