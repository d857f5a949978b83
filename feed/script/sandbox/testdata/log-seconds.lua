-- bench: sliding-log; over-admits same-instant ~client-clock
-- ratescope: keys s:{who}; args {now_s} {window_s} {limit}
redis.call('ZREMRANGEBYSCORE',KEYS[1],'-inf','('..(ARGV[1]-ARGV[2]))
if redis.call('ZCARD',KEYS[1])<tonumber(ARGV[3]) then redis.call('ZADD',KEYS[1],ARGV[1],ARGV[1]) redis.call('EXPIRE',KEYS[1],ARGV[2]) return 1 end
return 0
