-- Makes the crawls that judged and met a page unknown, if the page has not changed since the caller
-- has seen it.
--
-- ARGV: 1 The id of the page, and its last change.  Returns 1 if that was done, otherwise 0.

local id = string.sub(ARGV[1], 1, 4)
local page = redis.call('HGET', KEYS[1], id)
if not page or change_of(page) ~= string.sub(ARGV[1], 5) then return 0 end
page = string.sub(page, 1, CRAWL - 1) .. NONE .. string.sub(page, CRAWL_END + 1)
page = string.sub(page, 1, MET_BY - 1) .. string.rep('\0', 16) .. string.sub(page, MET_BY_END + 1)
redis.call('HSET', KEYS[1], id, next_change() .. string.sub(page, CHANGE_END + 1))
return 1
