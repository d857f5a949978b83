-- ratescope: keys h:{who}; args {limit} {window_s} {now_s}; admitted 1
-- bench: sliding-log; over-admits ~client-clock
local now, w, lim = tonumber(ARGV[3]), tonumber(ARGV[2]), tonumber(ARGV[1])
local all = redis.call('HGETALL', KEYS[1])
local sum = 0
for i = 1, #all, 2 do
  if tonumber(all[i]) <= now - w then redis.call('HDEL', KEYS[1], all[i]) else sum = sum + tonumber(all[i + 1]) end
end
if sum >= lim then return 0 end
redis.call('HINCRBY', KEYS[1], now, 1)
redis.call('EXPIRE', KEYS[1], w)
return 1
