-- ratescope: keys lb:{who}; args {limit} {window_ms} {now_ms}
-- bench: leaky-bucket; no-expiry ~client-clock
local lvl = tonumber(redis.call('HGET', KEYS[1], 'level') or '0')
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or ARGV[3])
local leak = tonumber(ARGV[1]) / tonumber(ARGV[2])
lvl = math.max(0, lvl - (tonumber(ARGV[3]) - last) * leak)
if lvl + 1 > tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'level', tostring(lvl + 1), 'last', ARGV[3])
return 1
