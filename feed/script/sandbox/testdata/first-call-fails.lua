-- bench: unknown; error
local n = redis.call('GET', KEYS[1])
if n >= ARGV[1] then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
