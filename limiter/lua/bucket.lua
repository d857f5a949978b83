{{- /* Token bucket and leaky bucket. KEYS[1] is a hash: whole tokens (or level, the
water), and at, the instant of the last whole step, with ":part:den" behind it where it
is part/den of a microsecond later. The arguments after the common ones are the step's
interval as whole microseconds, rest and denominator, and its units; the limit is the
bucket's size. Answers {ok, now, used, at, part}. */ -}}
{{define "look"}}
local whole, rest, den = ARGV[{{.More}}] + 0, ARGV[{{.More}} + 1] + 0, ARGV[{{.More}} + 2] + 0
local units = ARGV[{{.More}} + 3] + 0
local used, at, part = 0, now, 0
local kept = call('HMGET', KEYS[1], '{{.Field}}', 'at')
{{template "moment" .}}
local function after(k)
  local over = part + k * rest
  return at + k * whole + math.floor(over / den), over % den
end
local function begun(k)
  local us, over = after(k)
  return us < now or (us == now and over == 0)
end
if kept[1] and kept[2] then
  used = {{if .Leaky}}math.floor(kept[1] + 0){{else}}limit - math.floor(kept[1] + 0){{end}}
  at, part = moment(kept[2], den)
  if used > 0 then
    local all = math.ceil(used / units)
    local k = all
    if not begun(all) then
{{- /* The quotient may be off by one either way; the exact sum has the last word. */}}
      k = math.max(math.floor((now - at) / (whole + rest / den)), 0)
      while k > 0 and not begun(k) do k = k - 1 end
      while k < all and begun(k + 1) do k = k + 1 end
    end
    at, part = after(k)
    used = used - k * units
  end
  if used <= 0 then used, at, part = 0, now, 0 end
end
{{end}}

{{define "fits"}}used + n <= limit{{end}}

{{define "charge"}}
used = used + n
do
  local text = string.format('%.0f', at)
  if part > 0 then text = text .. ':' .. string.format('%.0f', part) .. ':' .. ARGV[{{.More}} + 2] end
  local us = after(math.ceil(used / units))
  call('HSET', KEYS[1], '{{.Field}}', {{if .Leaky}}used{{else}}limit - used{{end}}, 'at', text)
  call('PEXPIRE', KEYS[1], math.ceil((us + 1 - now) / 1000) + {{.Slack}})
end
{{end}}

{{define "answer"}}return { ok, now, used, at, part{{template "till" .}} }{{end}}

{{define "refund"}}
used = math.max(used - n, 0)
if used == 0 then
  at, part = now, 0
  call('DEL', KEYS[1])
else
  call('HSET', KEYS[1], '{{.Field}}', {{if .Leaky}}used{{else}}limit - used{{end}}, 'at', part > 0 and string.format('%.0f:%.0f:', at, part) .. ARGV[{{.More}} + 2] or string.format('%.0f', at))
end
{{end}}
