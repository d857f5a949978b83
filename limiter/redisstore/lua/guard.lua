{{- /* What tells this library's own values from those of others. A key that holds
something else is left as it is: the reply is a code, and nothing is written. */ -}}
{{define "foreign"}}return ('{{replyForeign}} %d'):format({{.}}){{end}}

{{- /* Reports whether a number can be an instant that was kept: whole microseconds between
2001 and 2255. A given clock may start at any instant, so there the expiry tells, which a
value of this library always has; where the script is careful, it has to have one beside. */ -}}
{{define "instant kept"}}{{if .Given}}call('PTTL', KEYS[1]) ~= -1{{else}}at >= {{earliest}} and at <= {{latest}} and at % 1 == 0{{if .Careful}} and call('PTTL', KEYS[1]) ~= -1{{end}}{{end}}{{end}}

{{- /* Reports whether an id is that of a unit: a place in 15 digits behind its microsecond, which
the server's own ids, with a short number behind the dash, do not have. */ -}}
{{define "unit id"}}(#string.match({{.}}, '%-(.*)$') > 15){{end}}
