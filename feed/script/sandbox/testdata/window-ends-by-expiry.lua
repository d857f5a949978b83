-- ratescope: keys w:{who}; args {now_ms} {window_ms} {limit}; admitted OK
-- bench: fixed-window; ~error
-- A clock-aligned window: the expiry is the end of the window by the caller's clock.
local stop = (math.floor(ARGV[1] / ARGV[2]) + 1) * ARGV[2]
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIREAT', KEYS[1], string.format('%d', stop)) end
if n > tonumber(ARGV[3]) then return redis.error_reply('RATE LIMITED') end
return redis.status_reply('OK')
