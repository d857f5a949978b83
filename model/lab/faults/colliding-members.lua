-- Sliding log whose members are milliseconds: a second request in one is not counted.
local window, limit, cost, open = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local used = redis.call('ZCOUNT', KEYS[1], open .. ('%d'):format(now - window), '+inf')
local ok = limit == 0 or used + cost <= limit
if ok or ARGV[5] == 'charged' then
  redis.call('ZADD', KEYS[1], now, now)
  redis.call('PEXPIRE', KEYS[1], window)
end
return ok and 1 or 0
