-- ratescope: keys b:{who}; args {cost} {now_ms} {window_ms} {limit}; admitted 1
-- bench: token-bucket; cost-ignored ~client-clock
local cost, now, w, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local s = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(s[1] or cap), tonumber(s[2] or now)
tokens = math.min(cap, tokens + math.max(0, now - at) * (cap / w))
local ok = 0
if tokens >= 1 then tokens = tokens - cost ok = 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', math.max(now, at))
redis.call('PEXPIRE', KEYS[1], 2 * w)
return ok
