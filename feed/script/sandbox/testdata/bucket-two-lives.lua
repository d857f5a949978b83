-- ratescope: keys tb:{who}:tokens tb:{who}:ts; args {limit} {window_ms} {now_ms}; admitted >=0
-- bench: token-bucket; error ~client-clock
local tokens_key = KEYS[1]
local ts_key = KEYS[2]
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local now = tonumber(ARGV[3])
local tokens = redis.call('GET', tokens_key)
if not tokens then
  redis.call('SET', tokens_key, limit - 1, 'PX', window * 2)
  redis.call('SET', ts_key, now, 'PX', window)
  return limit - 1
end
local last = tonumber(redis.call('GET', ts_key))
tokens = math.min(limit, tonumber(tokens) + (now - last) * limit / window)
if tokens < 1 then return -1 end
redis.call('SET', tokens_key, tokens - 1, 'PX', window * 2)
redis.call('SET', ts_key, now, 'PX', window)
return math.floor(tokens - 1)
