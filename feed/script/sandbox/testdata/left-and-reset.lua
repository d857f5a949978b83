-- ratescope: keys b:{who}; args {limit} {window_s} {now_s}; admitted 1
-- bench: fixed-window; ~client-clock ~under-admits
local cap, w, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local v = redis.call('HMGET', KEYS[1], 'left', 'reset')
local left, reset = tonumber(v[1]), tonumber(v[2])
if not left or now >= reset then left = cap; reset = now + w end
local ok = 0
if left > 0 then left = left - 1; ok = 1 end
redis.call('HSET', KEYS[1], 'left', left, 'reset', reset)
redis.call('EXPIREAT', KEYS[1], reset)
return ok
