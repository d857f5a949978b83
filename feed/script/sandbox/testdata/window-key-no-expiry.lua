-- ratescope: keys rl:{who}; args {limit} {window_s} {now_s}
-- bench: fixed-window; no-expiry undeclared-key ~client-clock
local k = KEYS[1] .. ':' .. math.floor(ARGV[3] / ARGV[2])
local n = redis.call('INCR', k)
if n > tonumber(ARGV[1]) then return 0 end
return 1
