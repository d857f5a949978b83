-- bench: token-bucket; no-expiry ~client-clock
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local b = redis.call('HMGET', KEYS[1], 'tokens', 'ts')
local tokens, ts = tonumber(b[1] or limit), tonumber(b[2] or now)
now = math.max(now, ts)
tokens = math.min(limit, tokens + (now - ts) * limit / window)
if tokens < cost then return 0 end
redis.call('HMSET', KEYS[1], 'tokens', string.format('%.17g', tokens - cost), 'ts', now)
return 1
