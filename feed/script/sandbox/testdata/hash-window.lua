-- bench: fixed-window;
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local window = tonumber(ARGV[2])
local start = ms - ms % window
local old = tonumber(redis.call('HGET', KEYS[1], 'start') or '0')
local n = tonumber(redis.call('HGET', KEYS[1], 'n') or '0')
if old ~= start then n = 0 end
if n + tonumber(ARGV[4]) > tonumber(ARGV[1]) then return {0, n} end
redis.call('HSET', KEYS[1], 'start', start, 'n', n + tonumber(ARGV[4]))
redis.call('PEXPIRE', KEYS[1], window)
return {1, n + 1}
