-- bench: gcra;
-- ratescope: keys gcra:{who}; args {limit} {window_s} {cost}; admitted [1]=0
-- as redis_rate / redis-cell: returns limited, remaining, retry_after, reset_after
redis.replicate_commands()
local key = KEYS[1]
local burst = tonumber(ARGV[1])
local rate = tonumber(ARGV[1])
local period = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local emission = period / rate
local increment = emission * cost
local burst_offset = emission * burst
local jan_1_2017 = 1483228800
local now = redis.call("TIME")
now = (now[1] - jan_1_2017) + (now[2] / 1000000)
local tat = redis.call("GET", key)
if not tat then tat = now else tat = tonumber(tat) end
tat = math.max(tat, now)
local new_tat = tat + increment
local allow_at = new_tat - burst_offset
local diff = now - allow_at
local remaining = diff / emission
if remaining < 0 then
  return {1, 0, tostring(allow_at - now), tostring(tat - now)}
end
local reset_after = new_tat - now
if reset_after > 0 then
  redis.call("SET", key, new_tat, "EX", math.ceil(reset_after))
end
return {0, remaining, tostring(-1), tostring(reset_after)}
