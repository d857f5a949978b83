-- ratescope: keys st:{who}; args {limit} {window_ms} {now_ms}
-- bench: stream; ~client-clock
local l = tonumber(ARGV[1])
local from = ARGV[3] - ARGV[2] + 1
local n = #redis.call('XRANGE', KEYS[1], string.format('%d', from), '+')
if n >= l then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', l, ARGV[3] .. '-*', 'v', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
