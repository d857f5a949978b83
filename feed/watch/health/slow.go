package health

import (
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// Commands by the position of the keys in their arguments. Only keys are shown.
var (
	// ofOneKey have a key as their first argument, followed by values.
	ofOneKey = words(`APPEND BITCOUNT BITFIELD BITFIELD_RO BITPOS DECR DECRBY DUMP EXPIRE EXPIREAT EXPIRETIME GEOADD GEOSEARCH GET GETBIT
		GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HSCAN HSET HSETNX HVALS INCR
		INCRBY INCRBYFLOAT LINDEX LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM PERSIST PEXPIRE PEXPIREAT PEXPIRETIME
		PFADD PSETEX PTTL RESTORE RPOP RPUSH RPUSHX SADD SCARD SET SETBIT SETEX SETNX SETRANGE SISMEMBER SMEMBERS SMISMEMBER SORT
		SORT_RO SPOP SRANDMEMBER SREM SSCAN STRLEN TTL TYPE XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XTRIM ZADD
		ZCARD ZCOUNT ZINCRBY ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYLEX
		ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE CL.THROTTLE`)
	// ofKeys have keys as all their arguments.
	ofKeys = words("DEL EXISTS MGET PFCOUNT PFMERGE RENAME RENAMENX SDIFF SINTER SUNION TOUCH UNLINK WATCH")
	// ofScripts have a script, the number of keys, the keys, and values.
	ofScripts = words("EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO")
	// withSubcommands have a subcommand as their first argument.
	withSubcommands = words("ACL CLIENT CLUSTER COMMAND CONFIG DEBUG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG XGROUP XINFO")
)

// words returns the set of the words of a text.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// mostSlowKeys bounds the keys of one entry. The server keeps up to 32 arguments.
const mostSlowKeys = 16

// slowCommand converts an entry of the slow log and removes all values from it: they may be
// secrets in keys that are not limiters. An unknown command keeps only its name.
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

// clipped shortens a text of the server to at most longestSlow bytes.
func clipped(text string) string { return text[:min(len(text), longestSlow)] }
