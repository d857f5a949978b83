-- The script becomes a function whose redis is told the time, and what stands around it sets the expiries
-- of the keys, takes them off again and reports them.
local seconds, micros, keys, args, from = ARGV[1], ARGV[2], {}, {}, 5 + 2 * ARGV[3]
-- Redis 7.0 deletes a key whose last millisecond ends while PEXPIRE runs: it is put back.
for i = 5, from - 1, 2 do
  local held = redis.call('DUMP', ARGV[i])
  while redis.call('PEXPIRE', ARGV[i], ARGV[i + 1]) == 1 and redis.call('EXISTS', ARGV[i]) == 0 do
    redis.call('RESTORE', ARGV[i], 0, held)
  end
end
for i = from, from - 1 + ARGV[4] do keys[i - from + 1] = ARGV[i] end
for i = from + ARGV[4], #ARGV do args[#args + 1] = ARGV[i] end
local ran = {}
local function told(call) return function(...)
  local list = {...}
  local words = {}
  for i = 1, #list do words[i] = tostring(list[i]) end
  ran[#ran + 1] = words
  if type(list[1]) == 'string' and string.upper(list[1]) == 'TIME' then return {seconds, micros} end
  return call(...)
end end
local lib
local function register(name, callback)
  if lib then error('--[[one function]]') end
  lib = callback or name.callback
end
local shim = setmetatable({call = told(redis.call), pcall = told(redis.pcall), register_function = register}, {__index = redis})
local function subject(redis, KEYS, ARGV) --[[script]]
end
local ok, reply = pcall(subject, shim, keys, args)
if ok and lib then ok, reply = pcall(lib, keys, args) end
local failed = false
if not ok then failed = type(reply) == 'table' and reply.err or tostring(reply) end
if ok and type(reply) == 'table' and reply.err then failed, reply = reply.err, false end
if ok and type(reply) == 'table' and reply.ok then reply = reply.ok end
if not ok then reply = false end
local lives = {}
for _, k in ipairs(redis.call('KEYS', '*')) do
  lives[#lives + 1] = k
  lives[#lives + 1] = redis.call('PTTL', k)
  redis.call('PERSIST', k)
end
return {lives, ran, failed, {reply}}
