{{- /* GCRA. KEYS[1] is a string: the theoretical arrival time in microseconds, with
":part:den" behind it where it is part/den of a microsecond later. The arguments after
the common ones are, in microseconds, what this request takes and what the whole burst
takes; how many milliseconds a key lives; and, where the interval is not a whole number,
the denominator and the parts of the first two. Answers ok, now, tat, part; no part is 0. */ -}}
{{define "look"}}
{{- if .Parts}}
local den = ARGV[{{.More}} + 3] + 0
{{- else}}
local den = 1
{{- end}}
local tat, part = now, 0
local kept = call('GET', KEYS[1])
if kept then
  tat = tonumber(kept)
  if not tat then
{{template "moment" .}}
    tat, part = moment(kept, den)
  end
  if tat < now then tat, part = now, 0 end
end
local us, over = tat + ARGV[{{.More}}], part{{if .Parts}} + ARGV[{{.More}} + 4]{{end}}
{{- if .Parts}}
if over >= den then us, over = us + 1, over - den end
{{- end}}
local early = us - now - ARGV[{{.More}} + 1]
{{end}}

{{define "fits"}}(early < 0 or (early == 0 and over <= {{if .Parts}}ARGV[{{.More}} + 5] + 0{{else}}0{{end}})){{end}}

{{define "charge"}}
tat, part = us, over
call('SET', KEYS[1], {{if .Parts}}part > 0 and ('%d:%d:%d'):format(tat, part, den) or {{end}}('%d'):format(tat), 'PX', ARGV[{{.More}} + 2])
{{end}}

{{define "answer"}}
{{- if not (or .Block .Stride)}}if part == 0 then return (ok == 1 and '1 %d %d' or '0 %d %d'):format(now, tat) end{{end}}
return ('%d %d %d %d{{template "%d" .}}'):format(ok, now, tat, part{{template "till" .}})
{{end}}

{{define "refund"}}
tat, part = tat - ARGV[{{.More}}], part{{if .Parts}} - ARGV[{{.More}} + 4]{{end}}
if part < 0 then tat, part = tat - 1, part + den end
if tat < now then
  tat, part = now, 0
  call('DEL', KEYS[1])
elseif kept then
  call('SET', KEYS[1], part > 0 and ('%d:%d:%d'):format(tat, part, den) or ('%d'):format(tat), 'PX', ('%d'):format(math.ceil((tat + 1 - now) / 1000) + {{.Slack}}))
end
{{end}}
