-- bench: unknown; over-admits
redis.call('SET', KEYS[1], 1, 'PX', ARGV[2])
return 1
