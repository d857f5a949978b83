-- ratescope: keys {who}:tokens {who}:ts; args {limit} {window_ms} {now_ms} {cost}
-- bench: token-bucket; error ~client-clock
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens = redis.call('GET', KEYS[1])
local ts = redis.call('GET', KEYS[2])
if tokens then
  local at = math.max(now, tonumber(ts))
  tokens = math.min(limit, tonumber(tokens) + (at - ts) * limit / window)
  now = at
else
  tokens = limit
end
if tokens < cost then return 0 end
redis.call('SET', KEYS[1], string.format('%.17g', tokens - cost), 'PX', 2 * window)
redis.call('SET', KEYS[2], now, 'PX', window)
return 1
