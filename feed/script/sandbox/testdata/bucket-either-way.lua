-- ratescope: keys b:{who}; args {limit} {window_ms} {now_ms}
-- bench: token-bucket; clock-back ~client-clock
local r = redis.call('HMGET', KEYS[1], 't', 'n')
local now, cap, win = tonumber(ARGV[3]), tonumber(ARGV[1]), tonumber(ARGV[2])
local n = cap
if r[1] then
  n = tonumber(r[2]) + math.abs(now - tonumber(r[1])) * cap / win
  if n > cap then n = cap end
end
if n < 1 then return 0 end
redis.call('HSET', KEYS[1], 't', now, 'n', n - 1)
redis.call('PEXPIRE', KEYS[1], win)
return 1
