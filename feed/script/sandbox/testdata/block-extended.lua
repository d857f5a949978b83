-- ratescope: keys n:{who} b:{who}; args {limit} {window_s} 9
-- bench: fixed-window;
if redis.call('GET', KEYS[2]) then
  redis.call('EXPIRE', KEYS[2], ARGV[3])
  return 0
end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
if n > tonumber(ARGV[1]) then
  redis.call('SETEX', KEYS[2], ARGV[3], '1')
  return 0
end
return 1
