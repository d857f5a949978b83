-- bench: fixed-window; ~error
-- ratescope: keys e:{who}; args {limit} {window_s}
local c=redis.call('INCR',KEYS[1]); if c==1 then redis.call('EXPIRE',KEYS[1],ARGV[2]) end
if c>tonumber(ARGV[1]) then return redis.error_reply('LIMITED') end
return 1
