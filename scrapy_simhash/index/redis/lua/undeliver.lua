-- Makes the crawls that judged and met a page unknown, if the page has not changed since the caller
-- has seen it.
--
-- ARGV: 1 The id of the page, and its last change.  Returns 1 if that was done, otherwise 0.

local id = string.sub(ARGV[1], 1, 4)
local page = redis.call('HGET', KEYS[1], id)
if not page or change_of(page) ~= string.sub(ARGV[1], 5) then return 0 end
redis.call('HSET', KEYS[1], id, next_change() .. string.sub(without_crawls(page), CHANGE_END + 1))
return 1
