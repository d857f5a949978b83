-- ratescope: keys rl:{who}; args {now_ms} {limit} {window_ms}; admitted [1]=1
-- bench: fixed-window; ~client-clock
local now = tonumber(ARGV[1]); local limit = tonumber(ARGV[2]); local win = tonumber(ARGV[3])
local count = tonumber(redis.call('HGET', KEYS[1], 'count') or 0)
local reset = tonumber(redis.call('HGET', KEYS[1], 'reset_at') or 0)
if now >= reset then count = 0; reset = now + win end
if count < limit then
  redis.call('HSET', KEYS[1], 'count', count + 1, 'reset_at', reset)
  redis.call('PEXPIREAT', KEYS[1], reset)
  return {1, limit - count - 1}
end
return {0, 0}
