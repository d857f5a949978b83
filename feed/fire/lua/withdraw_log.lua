-- Removes members of the sorted set or elements of the list KEYS[1]: ARGV holds pairs of a score or
-- an element, and how many to remove. To the limiter, members of the same score are alike. The script returns
-- how many it removed.
local gone = 0
local list = redis.call('TYPE', KEYS[1]).ok == 'list'
for i = 1, #ARGV, 2 do
  if list then
    gone = gone + redis.call('LREM', KEYS[1], ARGV[i + 1], ARGV[i])
  else
    local members = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[i], ARGV[i], 'LIMIT', '0', ARGV[i + 1])
    if #members > 0 then gone = gone + redis.call('ZREM', KEYS[1], unpack(members)) end
  end
end
return gone
