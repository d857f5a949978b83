{{- /* One decision. The algorithm's own file defines what it looks at, when a request
fits, what it charges and what it answers; the rest is the same for all. The answer is
a list of whole numbers that begins with 1 or 0 and the instant. What follows from them
is worked out by the caller, whose arithmetic is the same for every store. */ -}}
local call = redis.call
{{template "clock" .}}
{{if .Slim}}local n = ARGV[1] + 0{{else}}local n, limit, w = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0{{end}}
{{- if .Block}}
local till = (call('GET', KEYS[{{.BlockKey}}]) or 0) + 0
if till <= now then till = 0 end
{{- end}}
{{template "look" .}}
local ok = 0
{{- if .Refund}}
{{template "refund" .}}
n, limit = 0, {{.Unlimited}}
{{- else if not .Peek}}
if {{template "fits" .}}{{if .Block}} and till == 0{{end}}{{if .Below}} and n <= limit{{end}} then
ok = 1
{{template "charge" .}}
{{- if .Charged}}
elseif n <= limit{{if .Block}} and till == 0{{end}} then
{{template "charge" .}}
{{- end}}
{{- if .Ahead}}
else
{{template "undo" .}}
{{- end}}
end
{{- if or .Block .Denials}}
if ok == 0 then
{{- if .Denials}}
{{template "record" .}}
{{- end}}
{{- if .Block}}
if till == 0 and n <= limit then
  till = now + ARGV[{{.BlockArg}}]
  call('SET', KEYS[{{.BlockKey}}], string.format('%.0f', till), 'PX', math.ceil(ARGV[{{.BlockArg}}] / 1000) + {{.Slack}})
end
{{- end}}
end
{{- end}}
{{- end}}
{{template "answer" .}}
{{define "till"}}{{if .Block}}, till{{end}}{{end}}
