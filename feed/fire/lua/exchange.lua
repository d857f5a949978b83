-- Runs commands if the keys KEYS still have the contents that were read, all or none.
-- ARGV holds the number of checks; for each check the required answer, "+" and the text or "-"
-- for none, and a command; then the number of commands to run, and these. A command is its
-- number of words, followed by the words. The script returns the answer of the last command, or
-- false if a key has changed, and then it writes nothing.
local n = 0
local function word()
  n = n + 1
  return ARGV[n]
end
local function command()
  local words = {}
  for i = 1, tonumber(word()) do words[i] = word() end
  return words
end
for i = 1, tonumber(word()) do
  local want = word()
  local held = redis.call(unpack(command()))
  if (held and '+' .. held or '-') ~= want then return false end
end
local answer
for i = 1, tonumber(word()) do answer = redis.call(unpack(command())) end
return answer
