-- ratescope: keys q:{who}; args {limit} {window_s} {cost}; admitted >=0
-- bench: fixed-window;
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) end
return redis.call('DECRBY', KEYS[1], ARGV[3])
