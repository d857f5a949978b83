-- ratescope: keys c:{who}; args {limit} {window_s}
-- bench: fixed-window; under-admits
local n = redis.call('GET', KEYS[1])
if n and n >= ARGV[1] then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return 1
