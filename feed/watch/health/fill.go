package health

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/model"
)

// fillHealth fills h from the present figures, and its rates over h.Over from the figures
// before.
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
	type costed struct {
		model.CommandStat
		spent float64
	}
	var all []costed
	for name, s := range now.commands {
		was := before.commands[name]
		if over == 0 {
			was = commandSums{}
		}
		calls, usec := s.calls-was.calls, s.usec-was.usec
		c := costed{CommandStat: model.CommandStat{Name: name, Total: int64(s.calls), P99: time.Duration(s.p99 * 1e3), Scripts: scripted(name)},
			spent: usec}
		if calls > 0 {
			c.Mean = time.Duration(usec / calls * 1e3)
		}
		if over > 0 {
			c.Calls, c.Failed = max(calls, 0)/over.Seconds(), max(s.failed-was.failed, 0)/over.Seconds()
		}
		if s.calls > 0 || s.failed > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b costed) int {
		if a.Scripts != b.Scripts {
			if a.Scripts {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.spent, a.spent), strings.Compare(a.Name, b.Name))
	})
	out := make([]model.CommandStat, 0, mostListed)
	for _, c := range all[:min(len(all), mostListed)] {
		out = append(out, c.CommandStat)
	}
	return out
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
