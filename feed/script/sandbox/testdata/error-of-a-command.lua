-- ratescope: keys rl:{who}; args {limit} {window_s}
-- bench: fixed-window; error
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n > tonumber(ARGV[1]) then return redis.pcall('LPUSH', KEYS[1], 'denied') end
return 1
