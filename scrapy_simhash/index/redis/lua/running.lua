-- This file is put before each script about runs.  KEYS: 1 The runs, by number.  2 The last note of
-- each running run, by number.  3 The crawls, by name.  ARGV 1: the seconds without a note after
-- which a run has ended, by the clock of the server.

local now = tonumber(redis.call('TIME')[1])

local function write_note(run, note)
  note.at = now
  redis.call('HSET', KEYS[2], run, cjson.encode(note))
end
