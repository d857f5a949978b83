{{- /* The instant of the decision in whole microseconds. */ -}}
{{define "clock" -}}
{{if .Given -}}
local now = ARGV[4] + 0
{{- else -}}
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
{{- end}}{{end}}
