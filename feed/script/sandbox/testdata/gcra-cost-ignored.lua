-- bench: gcra; cost-ignored ~client-clock
local now = tonumber(ARGV[3])
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
if tat + window / limit * cost - now > window then return 0 end
redis.call('SET', KEYS[1], tat + window / limit, 'PX', window)
return 1
