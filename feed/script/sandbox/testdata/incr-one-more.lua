-- bench: fixed-window; over-admits
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n > tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
if n == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
