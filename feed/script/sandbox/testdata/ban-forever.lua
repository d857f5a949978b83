-- ratescope: keys n:{who} ban:{who}; args {limit} {window_s}
-- bench: fixed-window; no-expiry
if redis.call('GET', KEYS[2]) then return 0 end
local n = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2], 'NX')
if n > ARGV[1] + 0 then redis.call('SET', KEYS[2], 1) return 0 end
return 1
