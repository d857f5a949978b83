-- ratescope: keys log:{who}; args {window_ms} {limit} {now_ms} {cost}
-- bench: sliding-log; ~client-clock
-- A log of [time, cost] as JSON in a string; costs are honoured.
local raw = redis.call('GET', KEYS[1])
local old = raw and cjson.decode(raw) or {}
local now, window, kept, used = tonumber(ARGV[3]), tonumber(ARGV[1]), {}, 0
for _, e in ipairs(old) do
  if e[1] > now - window then kept[#kept + 1] = e; used = used + e[2] end
end
if used + tonumber(ARGV[4]) > tonumber(ARGV[2]) then return 0 end
kept[#kept + 1] = {now, tonumber(ARGV[4])}
redis.call('SET', KEYS[1], cjson.encode(kept), 'PX', window)
return 1
