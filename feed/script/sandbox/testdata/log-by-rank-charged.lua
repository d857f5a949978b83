-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {id}
-- bench: sliding-log; ~client-clock
local l = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -(l + 2))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local n = redis.call('ZCARD', KEYS[1])
if n <= l then return 1 end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if ARGV[3] - oldest[2] >= tonumber(ARGV[2]) then return 1 end
return 0
