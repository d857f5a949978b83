-- bench: sliding-window; undeclared-key ~client-clock ~clock-back
-- ratescope: keys sw:{who}; args {limit} {window_ms} {now_ms}
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local index = math.floor(now / window)
local cur = KEYS[1] .. ':' .. index
local prev = KEYS[1] .. ':' .. (index - 1)
local c = tonumber(redis.call('GET', cur) or '0')
local p = tonumber(redis.call('GET', prev) or '0')
local weight = 1 - (now % window) / window
if p * weight + c + 1 > limit then return 0 end
redis.call('INCR', cur)
redis.call('PEXPIRE', cur, window * 2)
return 1
