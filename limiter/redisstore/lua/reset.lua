{{- /* Makes a key as new. KEYS are all that a limiter may have left; ARGV holds for each of
them the type that it must have, and then how many of them hold charges: these come first, and must
hold a state of the algorithm. All that is ours has an expiry. Answers the number of the key that is not one of ours, and then removes nothing;
else 0. */ -}}
local call = redis.call
local function own(key, kind, charges)
{{- if and (eq .Holds "zset") (not .Foreign)}}
  if kind == 'zset' then
    local entry = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
    return {{template "own" .}} and call('PTTL', key) ~= -1
  end
{{- else if eq .Holds "hash"}}
  if kind == 'hash' then
    local kept = call('HMGET', key, '{{.Field}}', 'at')
    local at = kept[2] and tonumber(string.match(kept[2], '^%d+'))
    return kept[1] and at and call('HLEN', key) == 2 and call('PTTL', key) ~= -1{{if not .Given}} and at >= {{earliest}}{{end}}
  end
{{- end}}
  if kind == 'stream' then
    local entry = call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]
{{- if .NoTotals}}
    if charges then return true end
{{- end}}
    if call('PTTL', key) == -1 then return false end
    if not entry then return true end
{{- if .PerUnit}}
    if charges then return entry[2][1] == 'count' and #entry[2] == 2 and {{template "unit id" "entry[1]"}} end
{{- end}}
    return entry[2][1] == 'count' and entry[2][3] == 'total' and #entry[2] == 4
  end
  if kind == 'string' then
    local value = call('GET', key)
    local at = tonumber(string.match(value, '^%d+$'){{if .Moment}} or string.match(value, '^(%d+):%d+:%d+$'){{end}})
    return at{{if or .Expires .Moment (not .Foreign)}} and call('PTTL', key) ~= -1{{end}}{{if and .Moment (not .Given)}} and at >= {{earliest}}{{end}}
  end
  return true
end
for i, key in ipairs(KEYS) do
  local kind = call('TYPE', key).ok
  if kind ~= 'none' and not (kind == ARGV[i] and own(key, kind, i <= ARGV[#KEYS + 1] + 0)) then return ('%d'):format(i) end
end
call('UNLINK', unpack(KEYS))
return '0'
