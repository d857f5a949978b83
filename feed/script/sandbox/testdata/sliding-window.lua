-- bench: sliding-window; ~client-clock ~clock-back
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local index = math.floor(now / window)
local h = redis.call('HMGET', KEYS[1], index, index - 1)
local current, previous = tonumber(h[1] or '0'), tonumber(h[2] or '0')
local estimate = previous * (window - now % window) / window + current
if estimate + cost > limit then return 0 end
redis.call('HINCRBY', KEYS[1], index, cost)
for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do
  if tonumber(f) < index - 1 then redis.call('HDEL', KEYS[1], f) end
end
redis.call('PEXPIRE', KEYS[1], 2 * window)
return 1
