-- Makes the crawl that judged a page unknown, if the page is as the caller has seen it.
--
-- ARGV: 1 The id of the page, and its last change.  Returns whether that was done.

local id = string.sub(ARGV[1], 1, 4)
local page = redis.call('HGET', KEYS[1], id)
if not page or string.sub(page, 1, 4) ~= string.sub(ARGV[1], 5) then return 0 end
redis.call('HSET', KEYS[1], id,
  next_change() .. string.sub(page, 5, 12) .. NONE .. string.sub(page, 17))
return 1
