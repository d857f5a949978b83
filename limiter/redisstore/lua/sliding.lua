{{- /* Sliding window counter. KEYS[1] is the counters' name up to the window's start.
Answers ok, now, current, previous, start; start 0, or none, is the clock-aligned one.
The window after this one has a counter only when the clock jumped back: then it stays
the current one, and all of the window before it counts. */ -}}
{{define "look"}}
local from = 0
local start = now - now % w
local prefix = KEYS[1]
local key = prefix .. ('%d'):format(start / {{.NameUnit}})
{{- /* MGET takes what is no counter for none, which INCR finds out in time for one limit;
of several, another would have been charged by then. */}}
local before, after = prefix .. ('%d'):format((start - w) / {{.NameUnit}}), prefix .. ('%d'):format((start + w) / {{.NameUnit}})
local v = {{if .Stride}}{ call('GET', key), call('GET', before), call('GET', after) }{{else}}call('MGET', key, before, after){{end}}
local current, previous, left = (v[1] or 0) + 0, (v[2] or 0) + 0, start + w - now
if current < 0 or previous < 0 then {{template "foreign" "now"}} end
{{- if .Careful}}
if v[1] and call('PTTL', key) == -1 or v[2] and call('PTTL', before) == -1 or v[3] and call('PTTL', after) == -1 then {{template "foreign" "now"}} end
{{- end}}
if v[3] then
  from = start + w
  key, current, previous, left = prefix .. ('%d'):format(from / {{.NameUnit}}), v[3] + 0, current, w
end
{{- if not .Exact}}
local faded = previous * left / w{{if .Round}} + 0.5{{end}}
{{- end}}
{{end}}

{{- /* What is left of the previous count is rounded down by taking off its fraction,
which is exact. */}}
{{define "fits" -}}
{{if .Exact -}}
{{if .Below}}previous * left < (limit - current) * w{{else}}previous * left <= (limit - current - n) * w{{end}}
{{- else -}}
faded - faded % 1 + current {{if .Below}}< limit{{else}}+ n <= limit{{end}}
{{- end}}{{end}}

{{define "charge"}}
current = call({{if .Lean}}'INCR', key{{else}}'INCRBY', key, ARGV[1]{{end}})
if current == n then call('PEXPIRE', key, {{template "lives" .}}) end
{{end}}

{{define "answer"}}
{{- if not (or .Block .Stride)}}if from == 0 then return (ok == 1 and '1 %d %d %d' or '0 %d %d %d'):format(now, current, previous) end{{end}}
return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, current, previous, from{{template "till" .}})
{{end}}

{{define "refund"}}
local back = math.min(n, math.max(current, 0))
local older = math.min(n - back, math.max(previous, 0))
if back > 0 then current = call('DECRBY', key, ('%d'):format(back)) end
if back > 0 and current == 0 then call('DEL', key) end
if older > 0 then previous = call('DECRBY', prefix .. ('%d'):format(((from > 0 and from or start) - w) / {{.NameUnit}}), ('%d'):format(older)) end
{{end}}
