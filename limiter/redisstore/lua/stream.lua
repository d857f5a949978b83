{{- /* Stream counter: an entry a request with the fields count and total, the running
total with this entry. What is used is the difference between two totals, so a decision
reads two entries however many the window holds.

Expired entries are trimmed when the total passes a multiple of 64, which a cost of 64 does
every time, by whole nodes of the stream and at most 500 at a time. That is nearly eight
times what can have been added since, and still so few nodes that no decision waits for
them. Until then they take memory and nothing else: those in a node, of usually a hundred,
whose last one has not expired, those that expired since the last trim, and of a window
that was full what the trims have not reached yet. For a clock that jumped back fewer have
expired, and fewer go. A stream in which nothing counts any more is dropped in the
background, and its totals begin anew.

The newest entry is looked for from (0 on, which is the same as from the beginning: servers
before Redis 6.2, which cannot trim by ids, refuse that before anything is written.

Answers ok, now, used, instant of the entry that has to leave first, newest instant;
ok -1 says that the stream was written without totals. */ -}}
{{define "look"}}
local key = KEYS[1]
local last = call('XREVRANGE', key, '+', '(0', 'COUNT', '1')[1]
local low = math.max(now - w{{if not .Closed}} + 1{{end}}, 0) {{- /* no id is below */}}
local bound = ('%d'):format((low - low % 1000) / 1000)
local lowid = bound .. ('-%d000000000000000'):format(low % 1000 + 1)
local total, used, first = 0, 0, nil
if last then
  if not ({{template "own" "last"}}) then return ('{{replyNoTotals}} %d'):format(now) end
  total = last[2][4] + 0
  first = call('XRANGE', key, lowid, '+', 'COUNT', '1')[1]
  if first then
    if not ({{template "own" "first"}}) then return ('{{replyNoTotals}} %d'):format(now) end
    used = total - first[2][4] + first[2][2]
    if used < 0 then {{template "foreign" "now"}} end
  end
end
{{- if .Careful}}
if call('PTTL', key) == -1 then {{template "foreign" "now"}} end
{{- end}}
{{end}}

{{- /* Reports whether an entry has the fields of ours and no other. */ -}}
{{define "own"}}{{.}}[2][3] == 'total' and {{.}}[2][1] == 'count' and #{{.}}[2] == 4{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
local into, count = key, {{template "cost" .}}
if last and not first then
  call('UNLINK', key)
  last, total = nil, 0
end
total = total + n
{{template "append" ""}}
call('PEXPIRE', key, {{template "life" .}})
{{- /* A server may be set to keep more than 500 entries in a node, and then none would ever
go. So now and then a trim that removed none leaves it to the server how many: those of a
hundred nodes. */}}
if total % 64 < n then
  local gone = call('XTRIM', key, 'MINID', '~', bound, 'LIMIT', '500')
  if gone == 0 and total % 4096 < n then call('XTRIM', key, 'MINID', '~', bound) end
end
used = used + n
{{end}}

{{define "answer"}}
if ok == 1 then return ('1 %d %d 0 %d{{template "%d" .}}'):format(now, used, now{{template "till" .}}) end
if used == 0 then return ('%d %d 0 0 0{{template "%d" .}}'):format(ok, now{{template "till" .}}) end
{{template "instant" .}}
{{- /* The entry with which the k-th unit leaves is nearly always the oldest one. Else it
is found between two known ones, in turns by their totals, which is quick where requests
came evenly, and by half the time between them, which is sure. */}}
local k, at = used - limit + {{if .Below}}1{{else}}n{{end}}, 0
local newest = instant(call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1][1])
if k > 0 and k <= used then
  local goal = total - used + k
  local entry = first or call('XRANGE', key, lowid, '+', 'COUNT', '1')[1]
  at = instant(entry[1])
  if entry[2][4] + 0 < goal then
    local before, high, halve = at - 1, newest, false {{- /* others may have its instant */}}
    local under, over = total - used, total
    while high - before > 1 do
      local part = halve and 0.5 or (goal - under) / (over - under)
      local mid = math.min(math.max(math.floor(before + (high - before) * part), before + 1), high - 1)
      halve = not halve
      entry = call('XREVRANGE', key, ('%d-%d999999999999999'):format((mid - mid % 1000) / 1000, mid % 1000 + 1), '-', 'COUNT', '1')[1]
      if entry[2][4] + 0 < goal then
        before, under = mid, entry[2][4] + 0
      else
        high, over = instant(entry[1]), entry[2][4] + 0
        local older = call('XREVRANGE', key, '(' .. entry[1], '-', 'COUNT', '1')[1]
        if older and older[2][4] + 0 < goal then break end
      end
    end
    at = high
  end
end
return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, used, at, newest{{template "till" .}})
{{end}}

{{- /* Entries cannot be changed, so what is left of one begins anew. The total goes back
with what was taken off, and the ids, which hold the time first, go on. The stream does not
grow by that, so trimming is left to what is charged. */}}
{{define "refund"}}
local left = math.min(n, used)
used = used - left
while left > 0 do
  local entry = call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]
  local count = entry[2][2] + 0
  call('XDEL', key, entry[1])
  total = total - count
  if count > left then
    total = total + count - left
    local into, count, last = key, ('%d'):format(count - left), { last[1] }
{{template "append" ""}}
    call('PEXPIRE', key, {{template "life" .}})
    left = 0
  else
    left = left - count
  end
end
first = nil
{{end}}
