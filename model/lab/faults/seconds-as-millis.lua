-- Sliding log that takes milliseconds for seconds, in its window and its expiry: nothing leaves.
local window, limit, cost, open = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4]
local time = redis.call('TIME')
local now = time[1] + 0
local used = redis.call('ZCOUNT', KEYS[1], open .. ('%d'):format(now - window), '+inf')
local ok = limit == 0 or used + cost <= limit
if ok or ARGV[5] == 'charged' then
  redis.call('ZADD', KEYS[1], now, time[1] .. ('%06d'):format(time[2]))
  redis.call('EXPIRE', KEYS[1], window)
end
return ok and 1 or 0
