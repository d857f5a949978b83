-- bench: token-bucket; ~client-clock
-- ratescope: keys bucket:{who}; args {limit} {window_ms} {now_ms} {cost}
local cap, window, now, n = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local raw = redis.call('GET', KEYS[1])
local b
if raw then b = cjson.decode(raw) else b = {tokens = cap, at = now} end
local gained = (now - b.at) * cap / window
b.tokens = math.min(cap, b.tokens + gained)
b.at = now
local ok = 0
if b.tokens >= n then b.tokens = b.tokens - n ok = 1 end
redis.call('SET', KEYS[1], cjson.encode(b), 'PX', window)
return ok
