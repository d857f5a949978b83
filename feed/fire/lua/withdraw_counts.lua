-- Takes ARGV[i] off the counter KEYS[i], if it still exists, but not below 0. A
-- counter that reaches 0 is removed, because without the action it would not exist. Expiries stay
-- as they are. The script returns how much it took off in all.
local gone = 0
for i, key in ipairs(KEYS) do
  local held = tonumber(redis.call('GET', key) or '0')
  local n = math.min(held, tonumber(ARGV[i]))
  if n > 0 then
    gone = gone + n
    if held == n then redis.call('DEL', key) else redis.call('DECRBY', key, n) end
  end
end
return gone
