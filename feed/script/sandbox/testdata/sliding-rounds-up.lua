-- ratescope: keys rl:{who}: ; args {limit} {window_s} {now_s}
-- bench: sliding-window; undeclared-key ~client-clock ~under-admits
local w, now = tonumber(ARGV[2]), tonumber(ARGV[3])
local slot = math.floor(now / w)
local cur, prev = KEYS[1] .. slot, KEYS[1] .. (slot - 1)
local n, p = tonumber(redis.call('GET', cur) or 0), tonumber(redis.call('GET', prev) or 0)
if n + math.ceil(p * (1 - (now % w) / w)) >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', cur)
redis.call('EXPIRE', cur, w * 2)
return 1
