{{- /* Several limits on one key, charged in all of them or in none. Each has a key of its
own in the same slot, and {{.Stride}} arguments: those of a single decision. Answers those
of the single decisions one after another; the first value of each is 1 when all were
charged. */ -}}
local call = redis.call
local every, given = KEYS, ARGV
{{- if .Given}}
local ARGV = { 0, 0, 0, given[4] }
{{- end}}
{{template "clock" .}}
local parts, all = {}, true
for i = 1, {{if .Denials}}#every - 1{{else}}#every{{end}} do
  local KEYS, ARGV = { every[i] }, {}
  for j = 1, {{.Stride}} do ARGV[j] = given[(i - 1) * {{.Stride}} + j] end
  local n, limit, w = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
  local answer = (function()
{{template "look" .}}
    local ok = 0
    if not ({{template "fits" .}}{{if .Below}} and n <= limit{{end}}) then all = false end
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
if not all then
  local KEYS, ARGV, n, w = { [{{.DeniedKey}}] = every[#every] }, given, given[1] + 0, 0
  for i = 1, #parts do w = math.max(w, given[(i - 1) * {{.Stride}} + 3] + 0) end
{{template "record" .}}
end
{{- end}}
return table.concat(out, ' ')
