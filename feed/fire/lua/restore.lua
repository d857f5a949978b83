-- Restores the contents of keys, all or none. ARGV holds for each of the KEYS the digest
-- that it must have now ("" for no key), the dump to restore ("" to remove the key) and its expiry
-- in milliseconds since the epoch (0 for none). The script returns the first key whose digest
-- differs, because another program has written to it, or false if there is none.
for i, key in ipairs(KEYS) do
  local held = redis.call('DUMP', key)
  if (held and redis.sha1hex(held) or '') ~= ARGV[3 * i - 2] then return key end
end
for i, key in ipairs(KEYS) do
  redis.call('DEL', key)
  if ARGV[3 * i - 1] ~= '' then
    redis.call('RESTORE', key, ARGV[3 * i], ARGV[3 * i - 1], 'ABSTTL')
  end
end
return false
