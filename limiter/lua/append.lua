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
as the one before it. Expects at, total, into, last and trim with its bound. */ -}}
{{define "append"}}
if total > 999999999999999 then return redis.error_reply('ERR the running total is full: reset the key') end
local us = now % 1000
local id = redis.pcall('XADD', into, trim, '~', bound, string.format('%.0f-%d%015.0f', (now - us) / 1000, us + 1, total), 'count', ARGV[1], 'total', total)
if type(id) == 'table' then
  if not last then error(id.err, 0) end
{{template "instant" .}}
  local at = instant(last[1])
  us = at % 1000
  call('XADD', into, trim, '~', bound, string.format('%.0f-%d%015.0f', (at - us) / 1000, us + 1, total), 'count', ARGV[1], 'total', total)
end
{{end}}
