-- ratescope: keys g:{who}; args {limit} {window_s} {cost}; admitted 0
-- bench: gcra; expires-early over-admits
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
local T = tonumber(ARGV[2]) / tonumber(ARGV[1])
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
tat = math.max(tat, now)
local new = tat + T * tonumber(ARGV[3])
local diff = new - tonumber(ARGV[2]) - now
if diff > 0.000001 then return math.ceil(diff * 1000) end
redis.call('SET', KEYS[1], string.format('%.6f', new), 'EX', math.max(1, math.floor((new - now) / 2)))
return 0
