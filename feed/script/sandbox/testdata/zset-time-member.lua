-- bench: sliding-log; grows
-- ratescope: keys log:{who}; args {limit} {window_ms}
-- TIME in script, score and member in microseconds, adds before it counts (denied charged)
redis.replicate_commands()
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local window = tonumber(ARGV[2]) * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
redis.call('ZADD', KEYS[1], now, now)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local n = redis.call('ZCARD', KEYS[1])
if n > tonumber(ARGV[1]) then return false end
return true
