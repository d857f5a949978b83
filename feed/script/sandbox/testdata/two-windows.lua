-- ratescope: keys rl:{who}; args {limit} {window_s}
-- bench: fixed-window; undeclared-key ~under-admits
local l, w = tonumber(ARGV[1]), tonumber(ARGV[2])
local rules = { { l, w }, { l * 20, w * 60 } }
for i, r in ipairs(rules) do
  local c = tonumber(redis.call('GET', KEYS[1] .. ':' .. i) or 0)
  if c >= r[1] then return 0 end
end
for i, r in ipairs(rules) do
  if redis.call('INCR', KEYS[1] .. ':' .. i) == 1 then
    redis.call('EXPIRE', KEYS[1] .. ':' .. i, r[2])
  end
end
return 1
