{{- /* Stream counter on a stream that another program writes: entries with a field
count and no running total. The window is never summed here: the caller has summed it
up to an entry and says what will leave first; the script adds the few entries that came
after and takes off what has left.

ARGV[6] is the id summed up to, empty for none; ARGV[7] the sum; ARGV[8] 1 when the pairs
that follow, millisecond and count of what leaves next, are not all there is. Answers
ok, now, used, entries after that id, now; ok -2 asks the caller to read on, -3 to begin
again, -4 says that an entry has no count. */ -}}
{{define "look"}}
local key = KEYS[1]
local oldest = math.max(math.ceil((now - w{{if not .Closed}} + 1{{end}}) / 1000), 0)
local used, from = ARGV[7] + 0, ARGV[6]
local left = ARGV[8] == '0'
for i = 9, #ARGV, 2 do
  if ARGV[i] + 0 >= oldest then left = true break end
  used = used - ARGV[i + 1]
end
if not left then return ('{{replyReadOn}} %d 0 0 0'):format(now) end
if from == '' then
  from = ('%d'):format(oldest)
elseif call('XRANGE', key, from, from)[1] then
  from = '(' .. from
else
  return ('{{replyStartAnew}} %d 0 0 0'):format(now)
end
local fresh = call('XRANGE', key, from, '+', 'COUNT', '101')
if #fresh > 100 then return ('{{replyReadOn}} %d 0 0 0'):format(now) end
for _, entry in ipairs(fresh) do
  local count
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'count' then count = tonumber(entry[2][i + 1]) end
  end
  if not count then return ('{{replyNoCount}} %d 0 0 0'):format(now) end
  if string.match(entry[1], '^%d+') + 0 >= oldest then used = used + count end
end
{{end}}

{{define "fits"}}{{if .Below}}used < limit{{else}}used + n <= limit{{end}}{{end}}

{{define "charge"}}
local ttl = call('PTTL', key)
{{- if .Given}}
local last = call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]
local ms, seq = math.floor(now / 1000), now < 1000 and 1 or 0 {{- /* 0-0 is no id */}}
if last then
  local lms, lseq = string.match(last[1], '^(%d+)%-(%d+)$')
  if lms + 0 >= ms then ms, seq = lms + 0, lseq + 1 end
end
call('XADD', key, ('%d-%d'):format(ms, seq), 'count', ARGV[1])
{{- else}}
call('XADD', key, '*', 'count', ARGV[1])
{{- end}}
if ttl ~= -1 then call('PEXPIRE', key, ('%d'):format(math.max(ttl, {{template "window" .}}))) end
used = used + n
{{end}}

{{define "answer"}}return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, used, #fresh, now{{template "till" .}}){{end}}
