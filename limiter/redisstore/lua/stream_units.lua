{{- /* Stream of units: an entry a unit of cost, with the field count and no running total.
What has left the window is trimmed first, when its oldest entry is one of ours, so that the
length of the stream is what is used and no other entry has to be read. That bounds how many there may be: a trim takes longer the
more of them have left at once. The id of an entry is its instant and its place in it:
<ms>-<1 + microsecond of it><place in 15 digits>.

Answers ok, now, used, instant of the entry that has to leave first, newest instant; the last
two are looked up only for a denied request or a peek. */ -}}
{{define "look"}}
local key = KEYS[1]
local low = math.max(now - w{{if not .Closed}} + 1{{end}}, 0)
local bound = ('%d-%d000000000000000'):format((low - low % 1000) / 1000, low % 1000 + 1)
local used = call('XLEN', key)
if used > {{mostUnits}} then return ('{{replyTooMany}} %d'):format(now) end
{{- if .Careful}}
if call('PTTL', key) == -1 then {{template "foreign" "now"}} end
local newest = used > 0 and call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]
if newest then
  local fields = newest[2]
  if fields[1] ~= 'count' or fields[2] ~= '1' or #fields > 2 or not {{template "unit id" "newest[1]"}} then {{template "foreign" "now"}} end
end
{{- end}}
local old = used > 0 and call('XRANGE', key, '-', '(' .. bound{{if not .Peek}}, 'COUNT', '1'{{end}}) or {}
if old[1] then
  local fields = old[1][2]
  if fields[1] ~= 'count' or fields[2] ~= '1' or #fields > 2 then {{template "foreign" "now"}} end
  used = used - {{if .Peek}}#old{{else}}call('XTRIM', key, 'MINID', bound){{end}}
end
{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{- /* Ids never go back, so after the clock did an entry is as late as the last one, and a
little later still where a later one was taken off again. */}}
{{define "charge"}}
local at, place, step, left = now, 0, 0, n
repeat
  local us = at % 1000
  local id = redis.pcall('XADD', key, ('%d-%d%015d'):format((at - us) / 1000, us + 1, place), 'count', '1')
  if type(id) ~= 'table' then
    left, place = left - 1, place + 1
  elseif not string.find(id.err, 'equal or smaller', 1, true) or step > 4503599627370496 then
    return id
  elseif step == 0 then
{{template "instant" .}}
    local last = call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]
    step = 1
    if last and instant(last[1]) >= at then
      at, place = instant(last[1]), string.sub(last[1], -15) + 1
    end
  else
    at, place, step = at + step, 0, 2 * step
  end
until left == 0
call('PEXPIRE', key, {{template "life" .}})
used = used + n
{{end}}

{{define "answer"}}
if ok == 1 then return ('1 %d %d 0 %d{{template "%d" .}}'):format(now, used, now{{template "till" .}}) end
if used == 0 then return ('%d %d 0 0 0{{template "%d" .}}'):format(ok, now{{template "till" .}}) end
{{template "instant" .}}
local k, first = used - limit + {{if .Below}}1{{else}}n{{end}}, 0
if k > 0 and k <= used then {{- /* it is counted from the nearer end */}}
  local part
  if 2 * k <= used then
    part = call('XRANGE', key, bound, '+', 'COUNT', ('%d'):format(k))
  else
    part = call('XREVRANGE', key, '+', bound, 'COUNT', ('%d'):format(used - k + 1))
  end
  if #part > 0 then first = instant(part[#part][1]) end
end
local newest = instant(call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1][1])
return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, used, first, newest{{template "till" .}})
{{end}}

{{define "refund"}}
local back = math.min(n, used)
if back > 0 then
  local ids = call('XREVRANGE', key, '+', bound, 'COUNT', ('%d'):format(back))
  for i, entry in ipairs(ids) do ids[i] = entry[1] end
  for i = 1, #ids, 1000 do used = used - call('XDEL', key, unpack(ids, i, math.min(i + 999, #ids))) end
end
{{end}}
