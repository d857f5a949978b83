-- ratescope: keys rl:{who}; args {limit} {window_s} 25
-- bench: token-bucket; over-admits
-- rate per window, burst apart
local rate = ARGV[1] / ARGV[2]
local burst = tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] + t[2] / 1e6
local b = redis.call('HMGET', KEYS[1], 'tk', 'at')
local tk = b[1] and math.min(burst, b[1] + math.max(now - b[2], 0) * rate) or burst
if tk < 1 then return {0, tostring((1 - tk) / rate)} end
redis.call('HSET', KEYS[1], 'tk', tk - 1, 'at', now)
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate))
return {1, '0'}
