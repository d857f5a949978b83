-- ratescope: keys s:{who}; args {limit} {window_ms}; admitted 1
-- bench: gcra;
local gap = math.floor(tonumber(ARGV[2]) / tonumber(ARGV[1]))
if redis.call('SET', KEYS[1], 1, 'NX', 'PX', gap) then return 1 end
return 0
