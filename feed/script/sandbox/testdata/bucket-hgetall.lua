-- ratescope: keys tb:{who}; args {cost} {limit} {window_s}; admitted [2]=1
-- bench: token-bucket;
redis.replicate_commands()
local cost, cap, per = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1e6
local d = redis.call('HGETALL', KEYS[1])
local s = {}
for i = 1, #d, 2 do s[d[i]] = d[i + 1] end
local tokens = tonumber(s.tokens) or cap
local ts = tonumber(s.ts) or now
tokens = math.min(cap, tokens + math.max(0, now - ts) * cap / per)
local allowed = 0
if tokens >= cost then tokens = tokens - cost; allowed = 1 end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens), 'ts', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], math.ceil(per) + 1)
return {math.floor(tokens), allowed}
