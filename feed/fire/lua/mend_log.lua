-- Sets the expiry of the sorted set KEYS[1] to the one that its newest remaining member set
-- when it was added. ARGV holds the score of the newest member that was removed, and the time from
-- a member to the expiry that it sets, in milliseconds. If there is a newer member, it has set the
-- expiry itself, and nothing is changed.
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
if newest and tonumber(newest) < tonumber(ARGV[1]) and redis.call('PTTL', KEYS[1]) > 0 then
  return redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.floor(tonumber(newest) / 1000) + tonumber(ARGV[2])))
end
return 0
