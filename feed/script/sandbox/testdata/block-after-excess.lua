-- ratescope: keys hits:{who} blocked:{who}; args {limit} {window_s} 20
-- bench: fixed-window;
-- limit, window, block duration
local hits, blocked = KEYS[1], KEYS[2]
if redis.call('EXISTS', blocked) == 1 then
  return {0, redis.call('TTL', blocked)}
end
local n = redis.call('INCR', hits)
if n == 1 then redis.call('EXPIRE', hits, ARGV[2]) end
if n > tonumber(ARGV[1]) then
  redis.call('SET', blocked, 1, 'EX', ARGV[3])
  redis.call('DEL', hits)
  return {0, tonumber(ARGV[3])}
end
return {1, tonumber(ARGV[1]) - n}
