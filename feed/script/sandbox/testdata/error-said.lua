-- ratescope: keys rl:{who}; args {limit} {window_s}; admitted any/error
-- bench: fixed-window;
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n > tonumber(ARGV[1]) then return redis.error_reply(KEYS[1] .. ' is limited') end
return n
