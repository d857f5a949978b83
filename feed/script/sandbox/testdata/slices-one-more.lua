-- ratescope: keys rl:{who}; args {limit} {window_s}
-- bench: sliding-log; ~under-admits
-- one counter a second, window + 1 of them so that it never admits more
local now = tonumber(redis.call('TIME')[1])
local w = tonumber(ARGV[2])
local sum = 0
local h = redis.call('HGETALL', KEYS[1])
for i = 1, #h, 2 do
  if now - h[i] > w then redis.call('HDEL', KEYS[1], h[i]) else sum = sum + h[i + 1] end
end
if sum >= tonumber(ARGV[1]) then return 0 end
redis.call('HINCRBY', KEYS[1], now, 1)
redis.call('EXPIRE', KEYS[1], w + 1)
return 1
