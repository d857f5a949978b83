-- ratescope: keys {who}; args {now_ms}000 {window_ms}000 {limit} {window_s} {id}; admitted 1
-- bench: sliding-log; grows ~client-clock
-- MULTI of a Node library, as a script
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ARGV[5])
local n = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return n <= tonumber(ARGV[3]) and 1 or 0
