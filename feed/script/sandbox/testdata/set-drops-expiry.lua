-- ratescope: keys rl:{who}; args {limit} {window_s} {cost}; admitted >=0
-- bench: fixed-window; no-expiry under-admits
local cur = tonumber(redis.call('GET', KEYS[1]) or '0')
local cost = tonumber(ARGV[3])
if cur + cost > tonumber(ARGV[1]) then return -1 end
if cur == 0 then
  redis.call('SET', KEYS[1], cost, 'EX', ARGV[2])
else
  redis.call('SET', KEYS[1], cur + cost)
end
return tonumber(ARGV[1]) - cur - cost
