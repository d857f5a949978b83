-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {id}; admitted OK
-- bench: sliding-log; ~error ~client-clock
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[3] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {err = 'LIMIT exceeded, retry in ' .. (oldest[2] + ARGV[2] - ARGV[3]) .. ' ms'}
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.status_reply('OK')
