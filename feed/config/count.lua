if redis.call('PTTL', KEYS[1]) < 0 then return redis.error_reply('its key is gone, and the expiry of a new one is not known') end
local count, limit, cost = tonumber(redis.call('GET', KEYS[1])), tonumber(ARGV[1]), tonumber(ARGV[4])
local admits = count + cost <= limit
if admits or ARGV[5] == 'true' then redis.call('INCRBY', KEYS[1], cost) end
return admits and 1 or 0
