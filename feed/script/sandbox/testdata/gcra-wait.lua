-- ratescope: keys g:{who}; args {limit} {window_ms}; admitted 0
-- bench: gcra;
local t = redis.call('TIME')
local now_us = t[1] * 1000000 + t[2]
local step = math.floor(tonumber(ARGV[2]) * 1000 / tonumber(ARGV[1]))
local allow_at = tonumber(redis.call('GET', KEYS[1]) or now_us)
if allow_at < now_us then allow_at = now_us end
local nxt = allow_at + step
local wait = nxt - now_us - step * tonumber(ARGV[1])
if wait > 0 then return wait end
redis.call('SET', KEYS[1], string.format('%.0f', nxt), 'PX', math.ceil((nxt - now_us) / 1000))
return 0
