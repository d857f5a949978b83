-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {id}
-- bench: sliding-log; expires-early over-admits ~client-clock
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[3] - ARGV[2])
local n = redis.call('ZCARD', KEYS[1])
if n >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
if n == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
