{{- /* Sliding log: a sorted set with one member a unit of cost. A member is the instant
in microseconds, so that a reader needs no scores, with a number after a dash when one
microsecond saw several.

What is too old is not counted; it is removed now and then, a bounded number at a time,
because removing a million at once stops the server for a quarter of a second. A set in
which nothing counts any more is dropped in the background. A set that another program
keeps is left for that program to trim, and its expiry is never brought forward.

Answers ok, now, used, instant of the entry that has to leave first, newest instant;
the last two are looked up only for a denied request or a peek. */ -}}
{{define "look"}}
local key = KEYS[1]
{{- if .Foreign}}
local low = string.format('{{if not .Closed}}({{end}}%.{{.Digits}}f', (now - w) / {{.Unit}})
{{- else}}
local low = ('%d'):format(now - w{{if not .Closed}} + 1{{end}})
{{- end}}
{{- if .Foreign}}
local used = call('ZCOUNT', key, low, '+inf')
{{- else}}
local used = call('ZCOUNT', key, low, '{{latest}}')
local entry
{{if .Careful}}do{{else}}if used == 0 then{{end}}
  entry = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
  if entry[1] and not ({{template "own" .}} and call('PTTL', key) ~= -1) then {{template "foreign" "now"}} end
end
{{- end}}
{{end}}

{{- /* Reports whether an entry, a member with its score, is one of ours. A set of ours always has an
expiry. A known set in
which something counts is not looked at more closely: its scores are microseconds of this window,
and what is trimmed of it is looked at first. */ -}}
{{define "own"}}string.match(entry[1], '^%d+%-?%d*$') and string.match(entry[1], '^%d+') + 0 == entry[2] + 0{{if not .Given}} and entry[2] + 0 >= {{earliest}}{{end}}{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
local stamp = ('%d'):format(now)
{{- if .Foreign}}
local ttl = call('PTTL', key)
local score = string.format('%.{{.ScoreDigits}}f', {{if .WholeScores}}math.floor(now / {{.Unit}}){{else}}now / {{.Unit}}{{end}})
{{- else}}
local score = stamp
if used == 0 then call('UNLINK', key) end
{{- end}}
{{- if .Lean}}
local added, tries = call('ZADD', key, 'NX', score, stamp), 0
{{- else}}
local added, tries = 0, 0
if n == 1 then added = call('ZADD', key, 'NX', score, stamp) end
{{- end}}
while added < n do
  local args, have = {}, call('ZCOUNT', key, score, score) + tries
  local batch = math.min(n - added, 1000)
  for i = 1, batch do
    args[2 * i - 1], args[2 * i] = score, stamp .. '-' .. (have + i)
  end
  local new = call('ZADD', key, 'NX', unpack(args))
  added = added + new
  if new < batch then tries = tries + batch end
end
{{- if .Foreign}}
if ttl ~= -1 then call('PEXPIRE', key, math.max(ttl, {{template "window" .}})) end
{{- else}}
call('PEXPIRE', key, {{template "life" .}})
if now % 16 < n then
  local dead = call('ZCARD', key) - used - n
  local entry = dead > 0 and call('ZRANGE', key, '0', '0', 'WITHSCORES')
  if entry and {{template "own" .}} then call('ZREMRANGEBYRANK', key, '0', ('%d'):format(math.min(dead, math.max(100, 2 * n)) - 1)) end
end
{{- end}}
used = used + n
{{end}}

{{define "answer"}}
if ok == 1 then return ('1 %d %d 0 %d{{template "%d" .}}'):format(now, used, now{{template "till" .}}) end
if used == 0 then return ('%d %d 0 0 0{{template "%d" .}}'):format(ok, now{{template "till" .}}) end
local k, first = used - limit + {{if .Below}}1{{else}}n{{end}}, 0
if k > 0 and k <= used then
  local rank = ('%d'):format(k - used - 1) -- from the end, where those that count are
  first = call('ZRANGE', key, rank, rank, 'WITHSCORES')[2] or 0
end
local newest = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2] or 0
return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, used, math.floor(first{{template "unit" .}} + 0.5), math.floor(newest{{template "unit" .}} + 0.5){{template "till" .}})
{{end}}

{{define "refund"}}
local back = math.min(n, used)
if back > 0 then used = used - call('ZREMRANGEBYRANK', key, ('%d'):format(-back), '-1') end
{{end}}

{{define "unit"}}{{if ne .Unit 1}} * {{.Unit}}{{end}}{{end}}
