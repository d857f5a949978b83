-- bench: fixed-window; over-admits under-admits
-- ratescope: keys r:{who}; args {limit} {window_s}
-- > for >= : admits one more
local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n > tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
