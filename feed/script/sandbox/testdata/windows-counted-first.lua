-- ratescope: keys a:{who} b:{who}; args {limit} {window_s} 3 1
-- bench: fixed-window; ~under-admits
for i = 1, 3, 2 do
  local k = KEYS[(i + 1) / 2]
  local n = redis.call('INCR', k)
  if n == 1 then redis.call('EXPIRE', k, ARGV[i + 1]) end
  if n > tonumber(ARGV[i]) then return {0, redis.call('TTL', k)} end
end
return {1, 0}
