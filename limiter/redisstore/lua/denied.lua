{{- /* Records a denial in a capped stream of its own, kept for two windows. */ -}}
{{define "record"}}
local into, count = KEYS[{{.DeniedKey}}], {{template "cost" .}}
local last = call('XREVRANGE', into, '+', '-', 'COUNT', '1')[1]
if call('PTTL', into) == -1 or last and not (last[2][3] == 'total' and last[2][1] == 'count' and #last[2] == 4) then {{template "foreign" "now"}} end
local total = (last and last[2][4] or 0) + n
if total > 999999999999999 then {{- /* more than an id holds: they begin anew */}}
  call('UNLINK', into)
  last, total = nil, n
end
{{template "append" "'MAXLEN', '~', '10000', "}}
call('PEXPIRE', into, {{template "lives" .}})
{{end}}
