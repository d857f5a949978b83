-- bench: sliding-log; over-admits ~client-clock
-- ratescope: keys slots:{who}; args {limit} {window_s} {now_s}
-- a hash of one-second slots
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local all = redis.call('HGETALL', KEYS[1])
local sum = 0
for i = 1, #all, 2 do
  if tonumber(all[i]) <= now - window then
    redis.call('HDEL', KEYS[1], all[i])
  else
    sum = sum + tonumber(all[i + 1])
  end
end
if sum >= limit then return 0 end
redis.call('HINCRBY', KEYS[1], now, 1)
redis.call('EXPIRE', KEYS[1], window)
return 1
