{{- /* Fixed window. KEYS[1] is the counters' name up to the window's start. Answers
ok, now, count, start; start 0, or none, is the clock-aligned one. When a window has no
counter yet, the window after it is looked at: it has one when the clock jumped back, and
then goes on counting. Most requests are admitted, so the usual variant counts first and
takes it back when that was too much, which is a command less. On a given clock, where
counters outlive their windows, that look is taken every time. */ -}}
{{define "look"}}
local from = 0
local start = now - now % w
local key = KEYS[1] .. ('%d'):format(start / {{.NameUnit}})
{{- if .Careful}}
if call('PTTL', key) == -1 then {{template "foreign" "now"}} end
{{- end}}
{{- if .Ahead}}
{{- if .Lean}}
local ahead = true
local used = call('INCR', key) - 1
{{- else}}
local ahead = n <= limit
local used = ahead and call('INCRBY', key, ARGV[1]) - n or (call('GET', key) or 0) + 0
{{- end}}
if used < 0 then
  if ahead then {{template "undo" .}} end
  {{template "foreign" "now"}}
end
if used == 0 then
  local later = KEYS[1] .. ('%d'):format((start + w) / {{.NameUnit}})
  local count = redis.pcall('GET', later)
  if count then
    if ahead then call('DEL', key) end
    if type(count) == 'table' then return count end
{{- if .Careful}}
    if call('PTTL', later) == -1 then {{template "foreign" "now"}} end
{{- end}}
    ahead, key, used, from = false, later, count + 0, start + w
  end
end
{{- else}}
local used = call('GET', key)
{{if .Given}}do{{else}}if not used then{{end}}
  local later = KEYS[1] .. ('%d'):format((start + w) / {{.NameUnit}})
  local count = call('GET', later)
  if count then key, used, from = later, count, start + w end
end
used = (used or 0) + 0
if used < 0{{if .Careful}} or from > 0 and call('PTTL', key) == -1{{end}} then {{template "foreign" "now"}} end
{{- end}}
{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
{{- if .Ahead}}
used = ahead and used + n or call('INCRBY', key, {{template "cost" .}})
{{- else}}
used = call('INCRBY', key, {{template "cost" .}})
{{- end}}
if used == n then call('PEXPIRE', key, ('%d'):format(math.ceil((start + w - now) / 1000){{template "slack" .}})) end
{{end}}

{{define "undo"}}call('DECRBY', key, {{template "cost" .}}){{end}}

{{define "answer"}}
{{- if not (or .Block .Stride)}}if from == 0 then return (ok == 1 and '1 %d %d' or '0 %d %d'):format(now, used) end{{end}}
return ('%d %d %d %d{{template "%d" .}}'):format(ok, now, used, from{{template "till" .}})
{{end}}

{{define "refund"}}
local back = math.min(n, used)
if back > 0 then used = call('DECRBY', key, ('%d'):format(back)) end
if back > 0 and used == 0 then call('DEL', key) end
{{end}}
