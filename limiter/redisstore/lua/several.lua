{{- /* Several limits, charged in all of them or in none. Each has a key of its
own in the same slot, and {{.Stride}} arguments: those of a single decision, and where denials are
recorded the place of the stream for its key. Answers those
of the single decisions one after another; the first value of each is 1 when all were
charged. */ -}}
local call = redis.call
local every, given = KEYS, ARGV
{{- if .Given}}
local ARGV = { 0, 0, 0, given[4] }
{{- end}}
{{template "clock" .}}
local parts, all = {}, true
{{- if .Denials}}
local longest, full = {}, {}
{{- end}}
for i = 1, #given / {{.Stride}} do
  local KEYS, ARGV = { every[i] }, {}
  for j = 1, {{.Stride}} do ARGV[j] = given[(i - 1) * {{.Stride}} + j] end
  local n, limit, w = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
{{- if .Denials}}
  local denied = ARGV[{{.Stride}}] + 0
  longest[denied] = math.max(longest[denied] or 0, w)
{{- end}}
  local answer = (function()
{{template "look" .}}
    local ok = 0
    if not ({{template "fits" .}}{{if .Below}} and n <= limit{{end}}) then
      all = false
{{- if .Denials}}
      full[denied] = true
{{- end}}
    end
    return function(go)
      if go then
        ok = 1
{{template "charge" .}}
      end
{{template "answer" .}}
    end
  end)()
  if type(answer) ~= 'function' then return answer end
  parts[i] = answer
end
local out = {}
for _, part in ipairs(parts) do
  local answer = part(all)
  if type(answer) == 'table' then return answer end
  out[#out + 1] = answer
end
{{- if .Denials}}
for denied = #parts + 1, #every do
  if full[denied] then
    local KEYS, ARGV, n, w = { [{{.DeniedKey}}] = every[denied] }, given, given[1] + 0, longest[denied]
{{template "record" .}}
  end
end
{{- end}}
return table.concat(out, ' ')
