package health

import (
	"strings"

	"ratescope/feed/connect"
	"ratescope/model"
)

// fruitless returns how many calls of scripts a second added nothing to any key, at the least. Most libraries
// record no denials, so that this is the sign of clients that retry what is denied. Each call that admits a
// request adds to a key: with a command that can, which INFO counts also where a script calls it, and with a
// change that INFO counts. So no more calls have added than either number says, whatever else uses the
// server. It is not known where a snapshot has set the count of changes back.
func fruitless(h *model.Health, now, before *figures) model.Measure {
	since := func(name string) float64 { return now.values[name] - before.values[name] }
	_, counted := now.values["rdb_changes_since_last_save"]
	if h.Over <= 0 || !counted || len(now.commands) == 0 || since("rdb_last_save_time") != 0 {
		return model.Measure{}
	}
	calls, added := 0.0, 0.0
	for name, s := range now.commands {
		switch n := s.calls - before.commands[name].calls; {
		case strings.HasSuffix(name, "_ro"):
		case scripted(name):
			calls += n
		case !addsNothing(name):
			added += n
		}
	}
	return model.Measure{Known: true, V: max(calls-min(added, max(since("rdb_changes_since_last_save"), 0)), 0) / h.Over.Seconds()}
}

// addsNothing reports whether a command of commandstats cannot admit a request: it reads, or only removes
// or expires what is there.
func addsNothing(name string) bool {
	name, _, sub := strings.Cut(name, "|")
	return sub || connect.IsReadCommand(name) || takesAway[name]
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
