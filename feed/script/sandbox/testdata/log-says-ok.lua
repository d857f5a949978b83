-- ratescope: keys rl:{who}; args {limit} {window_ms} {id}; admitted [1]=OK
-- bench: sliding-log;
redis.replicate_commands()
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local span = tonumber(ARGV[2]) * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - span)
local count = redis.call('ZCARD', KEYS[1])
if count < tonumber(ARGV[1]) then
  redis.call('ZADD', KEYS[1], now, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {'OK', tonumber(ARGV[1]) - count - 1}
end
return {'LIMIT', 0}
