-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms}
-- bench: unknown; error
local data = redis.call('GET', KEYS[1])
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local o
if data then
  o = cjson.decode(data)
  if o.blocked_until > now then return 0 end
  if now >= o.start + window then o = { count = 0, start = now, blocked_until = 0 } end
else
  o = { count = 0, start = now }
end
o.count = o.count + 1
if o.count > limit then o.blocked_until = o.start + window end
redis.call('SET', KEYS[1], cjson.encode(o), 'PX', window)
return o.count <= limit and 1 or 0
