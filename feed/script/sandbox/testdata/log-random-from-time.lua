-- ratescope: keys rl:{who}; args {now_ms} {window_ms} {limit}
-- bench: sliding-log; same-instant over-admits ~client-clock
math.randomseed(tonumber(ARGV[1])) local now = tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - tonumber(ARGV[2]))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. math.random(1000000))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
