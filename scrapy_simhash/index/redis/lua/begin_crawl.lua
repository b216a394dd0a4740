-- Begins a run.
--
-- ARGV: 2 Its note, as JSON: its spider, what it joins (empty: nothing), its process.  3 The name of
-- its crawl; empty: none.  4 What is kept of the run, as JSON.  From 5 on: processes that have ended
-- without noting it.
-- Returns the number of the run and that of its crawl.

local note, dead = cjson.decode(ARGV[2]), {}
for i = 5, #ARGV do dead[ARGV[i]] = true end

local crawl = ARGV[3] ~= '' and tonumber(redis.call('HGET', KEYS[3], ARGV[3]) or nil)
local is_named = crawl
local found = redis.call('HGETALL', KEYS[2])
for i = 1, #found, 2 do
  local other = cjson.decode(found[i + 1])
  if other.at < now - tonumber(ARGV[1]) or dead[other.process] then
    redis.call('HDEL', KEYS[2], found[i])
  elseif not is_named and note.joins ~= '' and other.joins == note.joins
    and other.spider == note.spider then
    if not crawl or other.crawl < crawl then crawl = other.crawl end
  end
end

-- From the time on: if the server loses what it has, no number may be used again.
local run = math.max(tonumber(redis.call('HGET', KEYS[1], 'last') or 0) + 1, now)
redis.call('HSET', KEYS[1], 'last', run)
crawl = crawl or run
redis.call('HSET', KEYS[1], run, ARGV[4])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[3], ARGV[3], crawl) end
note.crawl = crawl
write_note(run, note)
return { run, crawl }
