package health

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// fillHealth fills h from the present figures, and its rates over h.Over from the figures before.
func fillHealth(h *model.Health, now, before *figures) {
	level := func(name string) model.Measure {
		v, ok := now.values[name]
		return model.Measure{Known: ok, V: v}
	}
	rate := func(names ...string) model.Measure {
		m := model.Measure{Known: h.Over > 0}
		for _, n := range names {
			v, ok := now.values[n]
			m.Known = m.Known && ok
			m.V += v - before.values[n]
		}
		if !m.Known {
			return model.Measure{}
		}
		m.V = max(m.V, 0) / h.Over.Seconds()
		return m
	}
	h.Ops = rate("total_commands_processed")
	h.CPU = rate("used_cpu_sys", "used_cpu_user")
	h.MemoryUsed, h.MemoryMax = level("used_memory"), level("maxmemory")
	h.Policy = now.words["maxmemory_policy"]
	h.Keys = model.Measure{Known: len(now.values) > 0, V: now.keys}
	h.Clients, h.Blocked = level("connected_clients"), level("blocked_clients")
	h.NetIn, h.NetOut = rate("total_net_input_bytes"), rate("total_net_output_bytes")
	h.Evicted, h.Expired = rate("evicted_keys"), rate("expired_keys")
	h.Replicas = level("connected_slaves")
	h.LinkUp = now.words["master_link_status"] == "up" && !now.unlink
	h.Lag, h.Unheard = now.lag, now.unheard
	h.Scripts, h.ScriptsEvicted = level("number_of_cached_scripts"), rate("evicted_scripts")
	h.Unsaved = level("rdb_changes_since_last_save")
	h.Saving = now.values["rdb_bgsave_in_progress"]+now.values["aof_rewrite_in_progress"] > 0
	h.SaveFailed = slices.Sorted(maps.Keys(now.failed))
	h.Commands = commandStats(h.Over, now, before)
	h.Fruitless = fruitless(h, now, before)
	h.Errors = errorStats(h.Over, now, before)
}

// scripted reports whether a command runs scripts; name is in lower case.
func scripted(name string) bool {
	return strings.HasPrefix(name, "eval") || strings.HasPrefix(name, "fcall")
}

// commandStats returns the commands that took the most time, those that run scripts first.
// Their rates are over the time since the figures before; 0 means since the server's start.
func commandStats(over time.Duration, now, before *figures) []model.CommandStat {
	var all []model.CommandStat
	spent := make(map[string]float64) // by command
	for name, s := range now.commands {
		was := collect.If(over == 0, commandSums{}, before.commands[name])
		calls, usec := s.calls-was.calls, s.usec-was.usec
		c := model.CommandStat{Name: name, Total: int64(s.calls), P99: time.Duration(s.p99 * 1e3), Scripts: scripted(name)}
		if spent[name] = usec; calls > 0 {
			c.Mean = time.Duration(usec / calls * 1e3)
		}
		if over > 0 {
			c.Calls, c.Failed = max(calls, 0)/over.Seconds(), max(s.failed-was.failed, 0)/over.Seconds()
		}
		if s.calls > 0 || s.failed > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b model.CommandStat) int {
		if a.Scripts != b.Scripts {
			return collect.If(a.Scripts, -1, 1)
		}
		return cmp.Or(cmp.Compare(spent[b.Name], spent[a.Name]), strings.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostListed)]
}

// errorStats returns the most frequent kinds of errors, by their rate over the time since the
// figures before; 0 means that there are no rates.
func errorStats(over time.Duration, now, before *figures) []model.ErrorStat {
	out := make([]model.ErrorStat, 0, len(now.errors))
	for name, n := range now.errors {
		if name == "MOVED" || name == "ASK" { // where a key is, which clients of a cluster follow
			continue
		}
		e := model.ErrorStat{Name: name, Total: int64(n)}
		if over > 0 {
			e.Rate = max(n-before.errors[name], 0) / over.Seconds()
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b model.ErrorStat) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total), strings.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), mostListed)]
}

// fruitless returns how many calls of scripts a second added nothing to any key, at the least. Most libraries record no denials, so
// that this is the sign of clients that retry what is denied. Each call that admits a request adds to a key: with a command that can,
// which INFO counts also where a script calls it, and with a change that INFO counts. So no more calls have added than either number
// says, whatever else uses the server. It is not known where a snapshot has set the count of changes back.
func fruitless(h *model.Health, now, before *figures) model.Measure {
	since := func(name string) float64 { return now.values[name] - before.values[name] }
	_, counted := now.values["rdb_changes_since_last_save"]
	if h.Over <= 0 || !counted || len(now.commands) == 0 || since("rdb_last_save_time") != 0 {
		return model.Measure{}
	}
	calls, added := 0.0, 0.0
	for name, s := range now.commands {
		plain, _, sub := strings.Cut(name, "|")
		switch n := s.calls - before.commands[name].calls; {
		case strings.HasSuffix(name, "_ro"):
		case scripted(name):
			calls += n
		case !sub && !connect.IsReadCommand(plain) && !takesAway[plain]: // it may admit a request
			added += n
		}
	}
	return model.Measure{Known: true, V: max(calls-min(added, max(since("rdb_changes_since_last_save"), 0)), 0) / h.Over.Seconds()}
}

// takesAway holds the commands that write and add nothing, and those that limiters' scripts and clients call
// beside and that write nothing.
var takesAway = map[string]bool{
	"expire": true, "pexpire": true, "expireat": true, "pexpireat": true, "persist": true, "expiretime": true, "pexpiretime": true,
	"del": true, "unlink": true, "zrem": true, "zremrangebyscore": true, "zremrangebyrank": true, "xtrim": true, "xdel": true,
	"ltrim": true, "lrem": true, "lpop": true, "rpop": true, "hdel": true, "srem": true, "zpopmin": true, "flushall": true,
	"multi": true, "exec": true, "discard": true, "watch": true, "unwatch": true, "publish": true, "echo": true, "replconf": true,
	"zrevrangebyscore": true, "zrank": true, "hexists": true, "hkeys": true, "sismember": true, "smembers": true, "touch": true,
}

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
	withSubcommands = words(`ACL CLIENT CLUSTER COMMAND CONFIG DEBUG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG XGROUP
		XINFO`)
)

// words returns the set of the words of a text.
func words(text string) map[string]bool { return collect.Set(strings.Fields(text)) }

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
	c.Keys = collect.Map(c.Keys, clipped)
	return c
}

// clipped shortens a text of the server to at most longestSlow bytes.
func clipped(text string) string { return text[:min(len(text), longestSlow)] }
