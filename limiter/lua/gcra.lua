{{- /* GCRA. KEYS[1] is a string: the theoretical arrival time in microseconds, with
":part:den" behind it where it is part/den of a microsecond later. The arguments after
the common ones are the interval as whole microseconds, rest and denominator, and the
same for the whole burst. Answers {ok, now, tat, part}, where no part is 0. */ -}}
{{define "look"}}
local whole, rest, den = ARGV[{{.More}}] + 0, ARGV[{{.More}} + 1] + 0, ARGV[{{.More}} + 2] + 0
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
local us, over = tat + n * whole, part + n * rest
if over >= den then
  us = us + math.floor(over / den)
  over = over % den
end
local early = us - now - ARGV[{{.More}} + 3]
{{end}}

{{define "fits"}}(early < 0 or (early == 0 and over <= ARGV[{{.More}} + 4] + 0)){{end}}

{{define "charge"}}
tat, part = us, over
local text, life = tat, (tat - now + 1000) / 1000 + {{.Slack}}
if part > 0 then text = string.format('%.0f:%.0f:', tat, part) .. ARGV[{{.More}} + 2] end
call('SET', KEYS[1], text, 'PX', life - life % 1)
{{end}}

{{define "answer"}}
{{- if .Slim}}if part == 0 then return { ok, now, tat } end{{end}}
return { ok, now, tat, part{{template "till" .}} }
{{end}}

{{define "refund"}}
tat, part = tat - n * whole, part - n * rest
if part < 0 then
  local more = math.ceil(-part / den)
  tat, part = tat - more, part + more * den
end
if tat < now then
  tat, part = now, 0
  call('DEL', KEYS[1])
elseif kept then
  local text = string.format('%.0f', tat)
  if part > 0 then text = text .. ':' .. string.format('%.0f', part) .. ':' .. ARGV[{{.More}} + 2] end
  call('SET', KEYS[1], text, 'PX', math.ceil((tat + 1 - now) / 1000) + {{.Slack}})
end
{{end}}
