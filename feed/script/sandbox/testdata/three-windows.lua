-- ratescope: keys a:{who} b:{who} c:{who}; args {limit} {window_s} 3 1 25 60
-- bench: fixed-window; ~under-admits
for i = 1, 3 do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i - 1]) then return 0 end
end
for i = 1, 3 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('EXPIRE', KEYS[i], ARGV[2 * i]) end
end
return 1
