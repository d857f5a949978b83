-- ratescope: keys rl:{who}; args {limit} {window_ms}
-- bench: sliding-log; over-admits
-- counters of six seconds in a hash
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local size = ARGV[2] / 10
local slot = math.floor(now / size)
local total = 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(all[i]) <= slot - 10 then redis.call('HDEL', KEYS[1], all[i]) else total = total + tonumber(all[i + 1]) end
end
if total >= tonumber(ARGV[1]) then return 0 end
redis.call('HINCRBY', KEYS[1], slot, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2)
return 1
