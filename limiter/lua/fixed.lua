{{- /* Fixed window. KEYS[1] is the counters' name up to the window's start. Answers
{ok, now, count, start}; start 0 is the clock-aligned one. The window after this one has
a counter only when the clock jumped back: then it goes on counting. */ -}}
{{define "look"}}
local from = 0
local start = now - now % w
local key = KEYS[1] .. start / {{.NameUnit}}
local v = call('MGET', key, KEYS[1] .. (start + w) / {{.NameUnit}})
local used = tonumber(v[1] or 0)
if v[2] then
  from = start + w
  key, used = KEYS[1] .. from / {{.NameUnit}}, tonumber(v[2])
end
{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
used = call('INCRBY', key, ARGV[1])
if used == n then call('PEXPIRE', key, math.ceil((start + w - now) / 1000) + {{.Slack}}) end
{{end}}

{{define "answer"}}return { ok, now, used, from{{template "till" .}} }{{end}}

{{define "refund"}}
local back = math.min(n, used)
if back > 0 then used = call('DECRBY', key, string.format('%.0f', back)) end
if back > 0 and used == 0 then call('DEL', key) end
{{end}}
