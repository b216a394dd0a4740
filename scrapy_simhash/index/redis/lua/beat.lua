-- Notes that a run is running.  ARGV: 2 Its number.  3 Its note, as JSON.
--
-- If the server was emptied meanwhile, numbers must not be used again.

local last = tonumber(redis.call('HGET', KEYS[1], 'last') or 0)
if last < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], 'last', ARGV[2]) end
write_note(ARGV[2], cjson.decode(ARGV[3]))
