-- ratescope: keys rl:{who}; args {limit} {window_ms} 3 1000 {id}
-- bench: sliding-log; ~under-admits
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
for i = 1, 3, 2 do
  if redis.call('ZCOUNT', KEYS[1], '(' .. (now - ARGV[i + 1]), '+inf') >= tonumber(ARGV[i]) then return 0 end
end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
