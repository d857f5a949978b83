-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms}
-- bench: gcra; expires-early over-admits ~client-clock
local every, now = ARGV[2] / ARGV[1], tonumber(ARGV[3])
local new = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + every
if new - ARGV[2] > now then return {0, new - ARGV[2] - now} end
redis.call('SET', KEYS[1], new, 'PX', math.ceil(every))
return {1, 0}
