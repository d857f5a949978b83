{{- /* Records a denial in a capped stream of its own, kept for two windows. */ -}}
{{define "record"}}
local into, trim, bound = KEYS[{{.DeniedKey}}], 'MAXLEN', '10000'
local last = call('XREVRANGE', into, '+', '-', 'COUNT', '1')[1]
local total = (last and last[2][4] or 0) + n
{{template "append" .}}
call('PEXPIRE', into, {{template "lives" .}})
{{end}}
