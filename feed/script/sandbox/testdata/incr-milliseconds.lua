-- ratescope: args {limit} {window_s}
-- bench: fixed-window; over-admits expires-early
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n <= tonumber(ARGV[1]) and 1 or 0
