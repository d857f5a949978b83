-- ratescope: keys rl:{who}; args {limit} {window_s} 60
-- bench: fixed-window;
-- login throttle: after too many attempts the key lives a minute
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= tonumber(ARGV[1]) then
  if n == tonumber(ARGV[1]) then
    redis.call('SET', KEYS[1], n + 1, 'EX', ARGV[3])
  end
  return 0
end
if redis.call('INCR', KEYS[1]) == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return 1
