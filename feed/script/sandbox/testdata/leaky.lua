-- bench: leaky-bucket; ~client-clock
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local b = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(b[1] or 0), tonumber(b[2] or now)
now = math.max(now, at)
level = math.max(0, level - (now - at) * limit / window)
if level + cost > limit + 1e-9 then return 0 end
redis.call('HSET', KEYS[1], 'level', string.format('%.17g', level + cost), 'at', now)
redis.call('PEXPIRE', KEYS[1], window)
return 1
