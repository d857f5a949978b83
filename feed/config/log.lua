if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('its key is gone, and the expiry of a new one is not known') end
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local unit, digits = tonumber(ARGV[6]), ARGV[6] == '1000000000' and '%.3f' or '%.0f'
local function at(ms) return string.format(digits, ms * 1000000 / unit) end
local admits = redis.call('ZCOUNT', KEYS[1], '(' .. at(now - window), '+inf') + cost <= limit
for i = 1, (admits or ARGV[5] == 'true') and cost or 0 do
  redis.call('ZADD', KEYS[1], at(now), at(now) .. '-' .. ARGV[7] .. '-' .. i)
end
return admits and 1 or 0
