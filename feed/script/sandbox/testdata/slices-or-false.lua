-- ratescope: keys s:{who}; args {limit} {window_ms}; admitted >0
-- bench: sliding-log; over-admits
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local width = tonumber(ARGV[2]) / 10
local cur = math.floor(now / width)
local oldest = cur - 9
local total = 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(all[i]) < oldest then
    redis.call('HDEL', KEYS[1], all[i])
  else
    total = total + tonumber(all[i + 1])
  end
end
if total >= tonumber(ARGV[1]) then return false end
redis.call('HINCRBY', KEYS[1], cur, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2)
return total + 1
