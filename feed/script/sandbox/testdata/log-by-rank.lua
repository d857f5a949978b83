-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {id}; admitted 1
-- bench: sliding-log; ~client-clock
local now, w, lim = tonumber(ARGV[3]), tonumber(ARGV[2]), tonumber(ARGV[1])
local old = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local n = redis.call('ZCARD', KEYS[1])
if n >= lim and tonumber(old[2]) > now - w then return 0 end
redis.call('ZADD', KEYS[1], now, now .. '-' .. ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -lim - 1)
redis.call('PEXPIRE', KEYS[1], w)
return 1
