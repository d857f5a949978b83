-- ratescope: keys rl:{who}; args {limit} {window_s}; admitted 1
-- bench: fixed-window; over-admits
local cur = redis.call('GET', KEYS[1])
if not cur then
  redis.call('SET', KEYS[1], 0, 'EX', ARGV[2])
  return 1
end
if tonumber(cur) >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
return 1
