-- ratescope: keys {rl:{who}}:{window_ms}; args {limit} {window_ms} {now_ms} {cost}
-- bench: sliding-window; expires-early ~undeclared-key ~client-clock ~clock-back
local limit, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local index = math.floor(now / window)
local this, last = KEYS[1] .. index, KEYS[1] .. (index - 1)
local current, previous = tonumber(redis.call('GET', this) or '0'), tonumber(redis.call('GET', last) or '0')
if math.floor(previous * (window - now % window) / window) + current + cost > limit then return 0 end
redis.call('INCRBY', this, cost)
redis.call('PEXPIRE', this, window)
return 1
