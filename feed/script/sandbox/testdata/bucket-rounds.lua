-- bench: token-bucket; under-admits ~client-clock
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local b = redis.call('HMGET', KEYS[1], 'tokens', 'ts')
local tokens, ts = tonumber(b[1] or limit), tonumber(b[2] or now)
tokens = math.min(limit, tokens + math.floor(math.max(now - ts, 0) * limit / window))
local ok = tokens >= cost
if ok then tokens = tokens - cost end
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'ts', math.max(now, ts))
redis.call('PEXPIRE', KEYS[1], window)
return ok and 1 or 0
