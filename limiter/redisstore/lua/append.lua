{{- /* Streams with running totals. The id of an entry is its instant and its total:
<ms>-<1 + microsecond of it><total in 15 digits>, so that it tells microseconds apart,
and two entries of one microsecond too. */ -}}
{{define "instant"}}
local function instant(id)
  local dash = string.find(id, '-', 1, true)
  local seq = string.sub(id, dash + 1)
  return string.sub(id, 1, dash - 1) * 1000 + (#seq > 15 and string.sub(seq, 1, -16) - 1 or 0)
end
{{end}}

{{- /* A stream's ids never go back, so after the clock jumped back an entry is as late
as the one before it; and a little later still where a later one was taken off again.
Expects now, total, into, last, and count as text. It is given the words with which XADD
trims, or none. */ -}}
{{define "append"}}
if not (total >= 0 and total <= 999999999999999) then return redis.error_reply('ERR the running total is full: reset the key') end
local us, sum = now % 1000, ('%d'):format(total)
local id = redis.pcall('XADD', into, {{.}}('%d-%d%015d'):format((now - us) / 1000, us + 1, total), 'count', count, 'total', sum)
if type(id) == 'table' then
  if not string.find(id.err, 'equal or smaller', 1, true) then return id end
{{template "instant" .}}
  local at, step = last and math.max(now, instant(last[1])) or now, 0
  repeat
    us = (at + step) % 1000
    id = redis.pcall('XADD', into, {{.}}('%d-%d%015d'):format((at + step - us) / 1000, us + 1, total), 'count', count, 'total', sum)
    step = 2 * step + 1
  until type(id) ~= 'table' or step > 4503599627370496
  if type(id) == 'table' then return id end
end
{{end}}
