-- ratescope: keys g:{who}; args {limit} {window_ms} {now_ms} {cost}
-- bench: gcra; cost-ignored ~client-clock
local now, T, cost = tonumber(ARGV[3]), ARGV[2] / ARGV[1], tonumber(ARGV[4])
local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
if tat + T - now > tonumber(ARGV[2]) then return 0 end
if cost < 1 then return 1 end
redis.call('SET', KEYS[1], tat + T, 'PX', ARGV[2])
return 1
