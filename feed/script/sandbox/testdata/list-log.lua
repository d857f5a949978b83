-- ratescope: args {limit} {window_ms} {now_ms}
-- bench: sliding-log; ~client-clock
local now, limit = tonumber(ARGV[3]), tonumber(ARGV[1])
local oldest = redis.call('LINDEX', KEYS[1], limit - 1)
if oldest and now - tonumber(oldest) < tonumber(ARGV[2]) then return 0 end
redis.call('LPUSH', KEYS[1], now)
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
