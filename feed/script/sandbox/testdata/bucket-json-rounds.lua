-- ratescope: keys b:{who}; args {limit} {window_ms}; admitted [allowed]=1
-- bench: token-bucket; under-admits
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local max, win = tonumber(ARGV[1]), tonumber(ARGV[2])
local raw = redis.call('GET', KEYS[1])
local b = raw and cjson.decode(raw) or { tokens = max, at = now }
local add = math.floor((now - b.at) * max / win)
b.tokens = math.min(max, b.tokens + add)
b.at = now
local ok = false
if b.tokens >= 1 then b.tokens = b.tokens - 1; ok = true end
redis.call('SET', KEYS[1], cjson.encode(b), 'PX', win * 2)
return cjson.encode({ allowed = ok, remaining = b.tokens })
