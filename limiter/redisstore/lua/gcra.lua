{{- /* GCRA. KEYS[1] is a string: the theoretical arrival time in microseconds, with
":part:den" behind it where it is part/den of a microsecond later. The arguments after
the common ones are, in microseconds, what this request takes and what the whole burst
takes; how many milliseconds a key lives; and, where the interval is not a whole number,
the denominator and the parts of the first two. Answers ok, now, tat, part; no part is 0. */ -}}
{{define "look"}}
{{- if .Parts}}
local den = {{arg .More 3}} + 0
{{- end}}
local tat, part = now, 0
local kept = call('GET', KEYS[1])
if kept then
  local at = tonumber(kept)
  if not at then
{{template "moment" .}}
    at, part = moment(kept, {{if .Parts}}den{{else}}1{{end}})
  end
  if not ({{template "instant kept" .}}) then {{template "foreign" "now"}} end
  tat = at
  if tat < now then tat, part = now, 0 end
end
{{- if .Parts}}
local us, over = tat + {{arg .More}}, part + {{arg .More 4}}
if over >= den then us, over = us + 1, over - den end
{{- else}}
local us = tat + {{arg .More}}
{{- end}}
local early = us - now - {{arg .More 1}}
{{end}}

{{define "fits"}}{{if .Parts}}(early < 0 or early == 0 and over <= {{arg .More 5}} + 0){{else}}early <= 0{{end}}{{end}}

{{define "charge"}}
{{- if .Parts}}
tat, part = us, over
call('SET', KEYS[1], {{template "kept"}}, 'PX', {{arg .More 2}})
{{- else}}
tat = us
call('SET', KEYS[1], ('%d'):format(tat), 'PX', {{arg .More 2}})
{{- end}}
{{end}}

{{define "answer"}}
{{- if not (or .Block .Stride)}}{{if .Parts}}if part == 0 then {{end}}return (ok == 1 and '1 %d %d' or '0 %d %d'):format(now, tat){{if .Parts}} end{{end}}{{end}}
{{- if or .Block .Stride .Parts}}
return ('%d %d %d %d{{template "%d" .}}'):format(ok, now, tat, part{{template "till" .}})
{{- end}}
{{end}}

{{define "refund"}}
tat, part = tat - {{arg .More}}, part - {{arg .More 4}}
if part < 0 then tat, part = tat - 1, part + den end
if tat < now then
  tat, part = now, 0
  call('DEL', KEYS[1])
elseif kept then
  call('SET', KEYS[1], {{template "kept"}}, 'PX', ('%d'):format(math.ceil((tat + 1 - now) / 1000){{template "slack" .}}))
end
{{end}}

{{define "kept"}}part > 0 and ('%d:%d:%d'):format(tat, part, den) or ('%d'):format(tat){{end}}
