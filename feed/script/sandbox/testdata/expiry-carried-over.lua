-- ratescope: keys rl:{who}; args {limit} {window_ms}
-- bench: fixed-window; over-admits
-- the expiry is carried over in whole seconds, so that each request takes up to one off
local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then return 0 end
local left = n == 0 and ARGV[2] / 1000 or math.floor(redis.call('PTTL', KEYS[1]) / 1000)
if left < 1 then redis.call('DEL', KEYS[1]) return 1 end
redis.call('SETEX', KEYS[1], left, n + 1)
return 1
