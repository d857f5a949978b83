-- ratescope: keys n:{who} ban:{who}; args {limit} {window_s} 60
-- bench: fixed-window;
-- A counter; who asks twice as often as the limit allows is banned for a minute.
if redis.call('GET', KEYS[2]) then return 0 end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n >= 2 * ARGV[1] then redis.call('SET', KEYS[2], '1', 'EX', ARGV[3]) end
return n <= tonumber(ARGV[1]) and 1 or 0
