-- ratescope: keys sem:{who}; args {id} {limit} {window_ms}; admitted [1]=1
-- bench: sliding-log;
-- Leases in a hash: each field is a request, its value when it ends. Redis' own clock in ms.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('HGETALL', KEYS[1])
local n = 0
for i = 1, #held, 2 do
  if tonumber(held[i + 1]) <= now then
    redis.call('HDEL', KEYS[1], held[i])
  else
    n = n + 1
  end
end
if n >= tonumber(ARGV[2]) then return {0, n} end
redis.call('HSET', KEYS[1], ARGV[1], now + tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, n + 1}
