-- ratescope: keys rl:{who}; args {now_ms} {window_s} {limit} {id}; admitted 1
-- bench: sliding-log; over-admits ~client-clock
local now, win, lim = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - win)
if redis.call('ZCARD', KEYS[1]) < lim then
  redis.call('ZADD', KEYS[1], now, ARGV[4])
  redis.call('EXPIRE', KEYS[1], win)
  return 1
end
return 0
