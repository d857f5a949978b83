#!lua name=limits
-- bench: fixed-window;
-- ratescope: keys rl:{who}; args {limit} {window_ms}
redis.register_function('allow', function(keys, args)
  local n = redis.call('INCR', keys[1])
  if n == 1 then redis.call('PEXPIRE', keys[1], args[2]) end
  if n > tonumber(args[1]) then return 0 end
  return 1
end)
