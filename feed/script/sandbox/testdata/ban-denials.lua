-- ratescope: keys n:{who} denied:{who} ban:{who}; args {limit} {window_s} 5 60
-- bench: fixed-window;
-- A counter; the fifth denial within a minute bans for a minute.
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 1 end
local denied = redis.call('INCR', KEYS[2])
if denied == 1 then redis.call('EXPIRE', KEYS[2], ARGV[4]) end
if denied >= tonumber(ARGV[3]) then
  redis.call('SET', KEYS[3], 1, 'EX', ARGV[4])
  redis.call('DEL', KEYS[2])
end
return 0
