-- ratescope: keys z:{who}; args {limit} {window_ms} {id}
-- bench: sliding-log; over-admits ~under-admits
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
