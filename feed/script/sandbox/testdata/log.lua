-- bench: sliding-log;
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local window = tonumber(ARGV[2]) * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local cost = tonumber(ARGV[4])
if redis.call('ZCARD', KEYS[1]) + cost > tonumber(ARGV[1]) then return 0 end
for i = 1, cost do redis.call('ZADD', KEYS[1], now, string.format('%.0f', now) .. '-' .. i) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
