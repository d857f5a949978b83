-- ratescope: args {limit} {window_ms} {now_ms} {id}
-- bench: sliding-log; clock-back ~client-clock
local now = tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[2])
local n = redis.call('ZCOUNT', KEYS[1], '(' .. (now - ARGV[2]), now)
if n >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
