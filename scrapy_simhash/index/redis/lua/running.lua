-- KEYS: 1 the runs, by number; 2 what runs that are going on said last, by number; 3 the crawls by
-- their names.  ARGV 1: after so many seconds of silence a run has ended.  This file is put before
-- each script about runs.  The clock is that of the server.

local now = tonumber(redis.call('TIME')[1])

local function say(run, said)
  said.at = now
  redis.call('HSET', KEYS[2], run, cjson.encode(said))
end
