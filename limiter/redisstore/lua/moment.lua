{{- /* Reads an instant that may be part/den of a microsecond late: "us" or
"us:part:den". Another denominator is rounded up, so that a limit that changes frees
nothing early. */ -}}
{{define "moment"}}
local function moment(text, den)
  local us = tonumber(text)
  if us then return us, 0 end
  local whole, part, parts = string.match(text, '^(%d+):(%d+):(%d+)$')
  us, part = whole + 0, part + 0
  if parts + 0 ~= den then part = math.ceil(part * den / parts) end
  if part >= den then us, part = us + 1, 0 end
  return us, part
end
{{end}}
