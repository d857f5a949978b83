-- ratescope: keys rl:{who} rl:{who}:denied; args {limit} {window_s}; admitted 1
-- bench: fixed-window; no-expiry
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n > tonumber(ARGV[1]) then redis.call('INCR', KEYS[2]) return 0 end
return 1
