-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms}; admitted 1
-- bench: sliding-log; over-admits ~client-clock
local now, w, lim = tonumber(ARGV[3]), tonumber(ARGV[2]), tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - w)
local n = redis.call('ZCARD', KEYS[1])
if n < lim then
  redis.call('ZADD', KEYS[1], now, n)
  redis.call('PEXPIRE', KEYS[1], w)
  return 1
end
return 0
