-- ratescope: keys tb:{who}; args {limit} {window_s} {cost}
-- bench: token-bucket; cost-ignored
local t = redis.call('TIME')
local now = t[1] + t[2] / 1e6
local cap, rate = tonumber(ARGV[1]), ARGV[1] / ARGV[2]
local tokens = tonumber(redis.call('HGET', KEYS[1], 't') or cap)
local at = tonumber(redis.call('HGET', KEYS[1], 'at') or now)
tokens = math.min(cap, tokens + math.max(0, now - at) * rate)
if tokens < tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 't', string.format('%.9f', tokens - 1), 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], math.ceil(cap / rate) + 1)
return 1
