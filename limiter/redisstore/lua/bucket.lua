{{- /* Token bucket and leaky bucket. KEYS[1] is a hash: whole tokens (or level, the
water), and at, the instant of the last whole step, with ":part:den" behind it where it
is part/den of a microsecond later. The arguments after the common ones are how many
milliseconds a key lives, the step's interval in microseconds, its units where a step is
not one, and, where the interval is not a whole number, the parts that it is longer and
the denominator; the limit is the bucket's size. Answers ok, now, used, at, part. */ -}}
{{define "look"}}
local whole = {{arg .More 1}} + 0
{{- if .Interval}}
local units = {{arg .More 2}} + 0
{{- end}}
{{- if .Parts}}
local rest, den = {{arg .More .Rest}} + 0, {{arg .More .Rest 1}} + 0
{{- else}}
local den = 1
{{- end}}
local used, at, part = 0, now, 0
local kept = call('HMGET', KEYS[1], '{{.Field}}', 'at')
if kept[1] and kept[2] then
  used = {{if .Leaky}}math.floor(kept[1] + 0){{else}}limit - math.floor(kept[1] + 0){{end}}
  at = tonumber(kept[2])
  if not at then
{{template "moment" .}}
    at, part = moment(kept[2], den)
  end
  if not ({{template "instant kept" .}}){{if .Careful}} or call('HLEN', KEYS[1]) ~= 2{{end}} then {{template "foreign" "now"}} end
  if used > 0 then
    local all = {{if .Interval}}math.ceil(used / units){{else}}used{{end}}
{{- if .Parts}}
{{- /* Says whether k steps are over, and when they were. The quotient may be off by one
either way; the exact sum has the last word. */}}
    local function after(k)
      local over = part + k * rest
      local us = at + k * whole + math.floor(over / den)
      over = over % den
      return us < now or (us == now and over == 0), us, over
    end
    local k = all
    if not after(all) then
      k = math.max(math.floor((now - at) / (whole + rest / den)), 0)
      while k > 0 and not after(k) do k = k - 1 end
      while k < all and after(k + 1) do k = k + 1 end
    end
    local _
    _, at, part = after(k)
{{- else}}
    local k = math.max(math.min(math.floor((now - at) / whole), all), 0)
    at = at + k * whole
{{- end}}
    used = used - k{{if .Interval}} * units{{end}}
  end
  if used <= 0 then used, at, part = 0, now, 0 end
elseif call('EXISTS', KEYS[1]) == 1 then
  {{template "foreign" "now"}}
end
{{end}}

{{define "fits"}}used + n <= limit{{end}}

{{- /* A clock that jumped back waits for at, and so does the key. */}}
{{define "charge"}}
used = used + n
call('HSET', KEYS[1], '{{.Field}}', ('%d'):format({{if .Leaky}}used{{else}}limit - used{{end}}), 'at', {{if .Parts}}part > 0 and ('%d:%d:%d'):format(at, part, den) or {{end}}('%d'):format(at))
call('PEXPIRE', KEYS[1], at > now and ('%d'):format(math.ceil((at - now) / 1000) + {{arg .More}}) or {{arg .More}})
{{end}}

{{define "answer"}}return ('%d %d %d %d %d{{template "%d" .}}'):format(ok, now, used, at, part{{template "till" .}}){{end}}

{{define "refund"}}
used = math.max(used - n, 0)
if used == 0 then
  at, part = now, 0
  call('DEL', KEYS[1])
else
  call('HSET', KEYS[1], '{{.Field}}', ('%d'):format({{if .Leaky}}used{{else}}limit - used{{end}}), 'at', part > 0 and ('%d:%d:%d'):format(at, part, den) or ('%d'):format(at))
end
{{end}}
