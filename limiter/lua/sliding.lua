{{- /* Sliding window counter. KEYS[1] is the counters' name up to the window's start.
Answers {ok, now, current, previous, start}; start 0, or none, is the clock-aligned one.
The window after this one has a counter only when the clock jumped back: then it stays
the current one, and all of the window before it counts. */ -}}
{{define "look"}}
local from = 0
local start = now - now % w
local key = KEYS[1] .. start / {{.NameUnit}}
local v = call('MGET', key, KEYS[1] .. (start - w) / {{.NameUnit}}, KEYS[1] .. (start + w) / {{.NameUnit}})
local current, previous, left = (v[1] or 0) + 0, (v[2] or 0) + 0, start + w - now
if v[3] then
  from = start + w
  key, current, previous, left = KEYS[1] .. from / {{.NameUnit}}, v[3] + 0, current, w
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
current = call('INCRBY', key, ARGV[1])
if current == n then call('PEXPIRE', key, math.ceil(w / 500) + {{.Slack}}) end
{{end}}

{{define "answer"}}
{{- if not (or .Block .Stride)}}if from == 0 then return { ok, now, current, previous } end{{end}}
return { ok, now, current, previous, from{{template "till" .}} }
{{end}}

{{define "refund"}}
local back = math.min(n, math.max(current, 0))
local older = math.min(n - back, math.max(previous, 0))
if back > 0 then current = call('DECRBY', key, string.format('%.0f', back)) end
if back > 0 and current == 0 then call('DEL', key) end
if older > 0 then previous = call('DECRBY', KEYS[1] .. ((from > 0 and from or start) - w) / {{.NameUnit}}, string.format('%.0f', older)) end
{{end}}
