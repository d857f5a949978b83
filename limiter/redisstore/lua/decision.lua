{{- /* One decision. The algorithm's own file defines what it looks at, when a request
fits, what it charges and what it answers; the rest is the same for all. The answer is
whole numbers with spaces between them, which begin with 1 or 0 and the instant. What
follows from them is worked out by the caller, whose arithmetic is the same for every store.

Most of what a decision costs a server is conversions. A table as the answer costs it twice
as much as a formatted string; a number that is concatenated, or given to a command, twice as
much as one formatted with %d; an argument as much as two additions. So numbers are
formatted, and the lean scripts, for a cost of 1, are not told the cost, nor a usual window.

Several decisions with the same arguments can be made together, each about its own keys, as if
one was asked after the other in the same microsecond. The answer has a line for each; one
that begins with ! is an error, which is that decision's alone. */ -}}
local call = redis.call
{{template "clock" .}}
{{template "terms" .}}
{{- if .Together}}
local function decide(KEYS)
{{- end}}
{{- if .Block}}
local till = call('GET', KEYS[{{.BlockKey}}])
if till and call('PTTL', KEYS[{{.BlockKey}}]) == -1 then {{template "foreign" "now"}} end
till = (till or 0) + 0
if till <= now then till = 0 end
{{- end}}
{{template "look" .}}
local ok = 0
{{- if .Refund}}
{{template "refund" .}}
n, limit = 0, {{unlimited}}
{{- else if not .Peek}}
if {{template "fits" .}}{{if .Block}} and till == 0{{end}}{{if .Below}} and n <= limit{{end}} then
ok = 1
{{template "charge" .}}
{{- if or .Ahead .Denials .Charged .Block}}
else
{{- if .Ahead}}
if ahead then {{template "undo" .}} end
{{- end}}
{{- if and .Denials .Charged}}
do {{- /* its names are those of a stream */}}
{{template "record" .}}
end
{{- else if .Denials}}
{{template "record" .}}
{{- end}}
{{- if or .Charged .Block}}
if n <= limit{{if .Block}} and till == 0{{end}} then
{{- if .Charged}}
{{template "charge" .}}
{{- end}}
{{- if .Block}}
  till = now + {{arg .BlockArg}}
  call('SET', KEYS[{{.BlockKey}}], ('%d'):format(till), 'PX', ('%d'):format(math.ceil({{arg .BlockArg}} / 1000){{template "slack" .}}))
{{- end}}
end
{{- end}}
{{- end}}
end
{{- end}}
{{template "answer" .}}
{{- if .Together}}
end
local out, own = {}, {} {{- /* one table for the keys of all: with one for each a decision took 1 to 7 % longer */}}
for i = 1, #KEYS{{if .Denials}}, 2{{end}} do
  own[1]{{if .Denials}}, own[2]{{end}} = KEYS[i]{{if .Denials}}, KEYS[i + 1]{{end}}
  local done, answer = pcall(decide, own)
  if type(answer) == 'table' then done, answer = false, answer.err end
{{- /* Before Redis 7.0 the place in the script stands before the error. */}}
  if not done then answer = string.gsub(answer, '^@user_script: ?%d+: %-?', '') end
{{- /* A replica refuses every write: clients leave a connection that answers so. */}}
  if not done and string.find(answer, '^READONLY') then return { err = answer } end
  out[#out + 1] = done and answer or '!' .. string.gsub(answer, '\n', ' ')
end
return table.concat(out, '\n')
{{- end}}

{{- /* What is asked for: the cost, the limit, and the window in microseconds. */ -}}
{{define "terms" -}}
{{if .Slim}}{{else if .Lean -}}
local n, limit = 1, ARGV[1] + 0
{{- if .Window}}
local w = {{.Window}}
{{- else if ne .More 2}}
local w = ARGV[2] + 0
{{- end}}
{{- else -}}
local n, limit, w = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
{{- end}}{{end}}
{{define "cost"}}{{if .Lean}}'1'{{else}}ARGV[1]{{end}}{{end}}

{{- /* How many milliseconds a key lives that counts for one window, or for two. */ -}}
{{define "life"}}{{if .Window}}'{{.Life}}'{{else}}('%d'):format({{template "window" .}}){{end}}{{end}}
{{define "lives"}}{{if .Window}}'{{.Lives}}'{{else}}('%d'):format(math.ceil(w / 500){{template "slack" .}}){{end}}{{end}}
{{define "window"}}math.ceil(w / 1000){{if .Closed}} + 1{{end}}{{template "slack" .}}{{end}}
{{define "slack"}}{{if .Slack}} + {{.Slack}}{{end}}{{end}}

{{- /* The end of every answer: until when the key is blocked. */ -}}
{{define "%d"}}{{if .Block}} %d{{end}}{{end}}
{{define "till"}}{{if .Block}}, till{{end}}{{end}}
