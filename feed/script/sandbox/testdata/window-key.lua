-- bench: fixed-window; undeclared-key
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local key = KEYS[1] .. ':' .. math.floor(ms / ARGV[2])
local n = redis.call('INCRBY', key, ARGV[4])
redis.call('PEXPIRE', key, ARGV[2])
return n <= tonumber(ARGV[1]) and 1 or 0
