-- ratescope: keys c:{who}; args {limit} {window_s}; admitted 1
-- bench: fixed-window; expires-early over-admits
local n = redis.call('INCRBY', KEYS[1], 1)
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 1 end
return 0
