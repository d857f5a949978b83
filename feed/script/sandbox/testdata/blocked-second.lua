-- ratescope: keys rl:{who}; args {limit} {window_s}; admitted [2]=0
-- bench: fixed-window;
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return {n, n > tonumber(ARGV[1]) and 1 or 0}
