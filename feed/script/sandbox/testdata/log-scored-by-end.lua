-- ratescope: keys l:{who}; args {limit} {window_ms} {now_ms} {id}; admitted 1
-- bench: sliding-log; under-admits ~client-clock
local now, w = tonumber(ARGV[3]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - w)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + w, ARGV[4])
redis.call('PEXPIRE', KEYS[1], 2 * w)
return 1
