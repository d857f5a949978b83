-- ratescope: keys rl:{who}; args {limit} {window_s}
-- bench: sliding-log; same-instant over-admits
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, tostring(now))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
