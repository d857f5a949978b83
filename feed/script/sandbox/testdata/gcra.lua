-- bench: gcra;
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local new = tat + window / limit * cost
if new - now > window then return {0, math.ceil(new - now - window)} end
redis.call('SET', KEYS[1], string.format('%.17g', new), 'PX', math.ceil(new - now))
return {1, 0}
