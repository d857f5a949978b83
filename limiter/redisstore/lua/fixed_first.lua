{{- /* Fixed window that begins with the first request: one counter whose expiry is the
window's end. Redis drops a key in the millisecond after its expiry. Answers ok, now,
count, end of the window; end 0 is none. A counter without an expiry is not one of ours. A server expires nothing on a given clock, so
with one the end is kept in a key of its own. */ -}}
{{define "look"}}
local used = call('GET', KEYS[1])
local ends = 0
if used then
{{- if .Given}}
  ends = (call('GET', KEYS[{{.EndsKey}}]) or -1) + 0
  if ends == -1 then {{template "foreign" "now"}} end
  if ends <= now then used, ends = false, 0 end
{{- else}}
  ends = call('PTTL', KEYS[1])
  if ends == -1 then {{template "foreign" "now"}} end
  ends = now - now % 1000 + (ends + 1) * 1000
{{- end}}
end
used = (used or 0) + 0
if used < 0 then {{template "foreign" "now"}} end
{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
{{- if .Given}}
if ends == 0 then call('DEL', KEYS[1]) end
{{- end}}
used = call('INCRBY', KEYS[1], {{template "cost" .}})
if ends <= 0 then
  local life = math.max(math.ceil(w / 1000){{if not .Closed}} - 1{{end}}, 1)
  ends = now - now % 1000 + (life + 1) * 1000
  call('PEXPIRE', KEYS[1], ('%d'):format(life{{template "slack" .}}))
{{- if .Given}}
  call('SET', KEYS[{{.EndsKey}}], ('%d'):format(ends), 'PX', ('%d'):format(life{{template "slack" .}}))
{{- end}}
end
{{end}}

{{define "answer"}}return ('%d %d %d %d{{template "%d" .}}'):format(ok, now, used, ends{{template "till" .}}){{end}}

{{define "refund"}}
local back = math.min(n, used)
if back > 0 then used = call('DECRBY', KEYS[1], ('%d'):format(back)) end
if used == 0 then
  call('DEL', KEYS[1])
  ends = 0
end
{{end}}
