package health

import (
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// ofOneKey are the commands whose first argument is a key and whose others are values,
// and ofKeys those of which every argument is a key.
var (
	ofOneKey = words(`APPEND BITCOUNT BITFIELD BITFIELD_RO BITPOS DECR DECRBY DUMP EXPIRE EXPIREAT EXPIRETIME GEOADD GEOSEARCH GET GETBIT
		GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HSCAN HSET HSETNX HVALS INCR
		INCRBY INCRBYFLOAT LINDEX LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM PERSIST PEXPIRE PEXPIREAT PEXPIRETIME
		PFADD PSETEX PTTL RESTORE RPOP RPUSH RPUSHX SADD SCARD SET SETBIT SETEX SETNX SETRANGE SISMEMBER SMEMBERS SMISMEMBER SORT
		SORT_RO SPOP SRANDMEMBER SREM SSCAN STRLEN TTL TYPE XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XTRIM ZADD
		ZCARD ZCOUNT ZINCRBY ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYLEX
		ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE CL.THROTTLE`)
	ofKeys = words("DEL EXISTS MGET PFCOUNT PFMERGE RENAME RENAMENX SDIFF SINTER SUNION TOUCH UNLINK WATCH")
	// ofScripts have a script, how many keys there are, and these.
	ofScripts = words("EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO")
	// withSubcommands name what they do in their first argument.
	withSubcommands = words("ACL CLIENT CLUSTER COMMAND CONFIG DEBUG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG XGROUP XINFO")
)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// mostSlowKeys bounds the keys of one entry. The server itself keeps 32 arguments.
const mostSlowKeys = 16

// slowCommand returns an entry of the slow log without the values in it: they may be of keys
// that are no limiters, and secrets. Of a command that is not known only the name is kept.
func slowCommand(l redis.SlowLog) model.SlowCommand {
	c := model.SlowCommand{ID: l.ID, At: limiter.InstantOf(l.Time), Took: l.Duration}
	if len(l.Args) == 0 {
		return c
	}
	name, args := strings.ToUpper(clipped(l.Args[0])), l.Args[1:]
	c.Command = name
	switch {
	case len(args) == 0:
	case ofOneKey[name]:
		c.Keys, args = args[:1], args[1:]
	case ofKeys[name]:
		c.Keys, args = args, nil
	case withSubcommands[name]:
		c.Command, args = name+" "+strings.ToUpper(clipped(args[0])), args[1:]
	case ofScripts[name] && len(args) > 1:
		if n, err := strconv.Atoi(args[1]); err == nil && n >= 0 {
			n = min(n, len(args)-2)
			c.Keys, args = args[2:2+n], args[2+n:]
		}
	}
	if n := len(c.Keys) - mostSlowKeys; n > 0 {
		c.Rest, c.Keys = n, c.Keys[:mostSlowKeys]
	}
	c.Rest += len(args)
	keys := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = clipped(k)
	}
	c.Keys = keys
	return c
}

// clipped bounds what the server sent.
func clipped(text string) string { return text[:min(len(text), longestSlow)] }
