-- ratescope: keys n:{who} ban:{who} strikes:{who}; args {limit} {window_s}; admitted 0
-- bench: fixed-window; ~under-admits
-- A counter; each overrun bans twice as long as the one before.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 0 end
local strikes = redis.call('INCR', KEYS[3])
redis.call('EXPIRE', KEYS[3], 3600)
redis.call('SET', KEYS[2], 1, 'EX', math.floor(ARGV[2] * 2 ^ (strikes - 1)))
redis.call('DEL', KEYS[1])
return 2
