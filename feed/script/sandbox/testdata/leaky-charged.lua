-- ratescope: keys lb:{who}; args {limit} {window_ms}
-- bench: leaky-bucket;
-- A leaky bucket in which denied requests add water too, up to twice its size.
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local h = redis.call('HMGET', KEYS[1], 'water', 'at')
local rate = ARGV[1] / ARGV[2]
local water = math.max(0, (tonumber(h[1]) or 0) - (now - (tonumber(h[2]) or now)) * rate) + 1
redis.call('HSET', KEYS[1], 'water', string.format('%.9f', math.min(water, 2 * ARGV[1])), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return water <= tonumber(ARGV[1]) and 1 or 0
