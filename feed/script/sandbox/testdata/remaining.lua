-- ratescope: keys rl:{who}; args {limit} {window_ms}; admitted >=0
-- bench: fixed-window;
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return tonumber(ARGV[1]) - n
