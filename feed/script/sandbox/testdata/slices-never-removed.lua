-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms}
-- bench: sliding-log; over-admits grows ~client-clock ~clock-back
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local width = window / 5
local slot = math.floor(now / width)
local sum = 0
for i = slot - 4, slot do
  sum = sum + tonumber(redis.call('HGET', KEYS[1], tostring(i)) or '0')
end
if sum >= limit then
  return 0
end
redis.call('HINCRBY', KEYS[1], tostring(slot), 1)
redis.call('PEXPIRE', KEYS[1], window * 2)
return 1
