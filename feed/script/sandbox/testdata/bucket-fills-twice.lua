-- ratescope: keys b:{who}; args {now_ms} {window_ms} {limit}; admitted 1
-- bench: token-bucket; over-admits ~client-clock
local now, w, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local s = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(s[1]) or cap, tonumber(s[2]) or now
tokens = tokens + (now - at) / w * cap
if tokens > cap * 2 then tokens = cap * 2 end
local ok = 0
if tokens >= 1 then tokens = tokens - 1 ok = 1 end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], 4 * w)
return ok
