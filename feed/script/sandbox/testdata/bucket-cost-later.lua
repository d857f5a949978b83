-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {cost}
-- bench: token-bucket; cost-ignored ~client-clock
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens') or limit)
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or now)
tokens = math.min(limit, tokens + math.max(0, now - last) / window * limit)
if tokens < 1 then return {0, tokens} end
redis.call('HSET', KEYS[1], 'tokens', math.max(0, tokens - cost), 'last', now)
redis.call('PEXPIRE', KEYS[1], window)
return {1, tokens}
