package feed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// doctor looks at the health of the server: INFO and SLOWLOG every healthEvery, turned
// into rates. What a permission forbids is left out and named.
type doctor struct {
	next   time.Time
	before figures
	at     limiter.Instant
	shut   map[string]string // command → remedy, for what is not asked any more
}

const (
	healthEvery = 2 * time.Second
	mostListed  = 12
	mostSlow    = 16
	longestSlow = 200 // bytes of a slow command
)

// figures are the sums of INFO over the nodes of a server, since its start.
type figures struct {
	values   map[string]float64 // single numbers by INFO's names
	words    map[string]string
	commands map[string]commandSums
	errors   map[string]float64
	keys     float64
}

type commandSums struct {
	calls, usec, failed, p99 float64 // p99 in µs
}

// sections of INFO that are looked at; before Redis 7 "all" is asked instead.
var sections = []string{"server", "clients", "memory", "persistence", "stats", "replication", "cpu", "commandstats", "errorstats", "latencystats", "keyspace"}

func newFigures() figures {
	return figures{values: map[string]float64{}, words: map[string]string{}, commands: map[string]commandSums{}, errors: map[string]float64{}}
}

// add takes the INFO of one node.
func (f *figures) add(text string) {
	for name, value := range parseInfo(text) {
		kind, rest, _ := strings.Cut(name, "_")
		switch {
		case kind == "cmdstat":
			f.addCommand(rest, value)
		case kind == "errorstat":
			n, _ := strconv.ParseFloat(parts(value)["count"], 64)
			f.errors[rest] += n
		case strings.HasPrefix(name, "latency_percentiles_usec_"):
			c := strings.TrimPrefix(name, "latency_percentiles_usec_")
			v, _ := strconv.ParseFloat(parts(value)["p99"], 64)
			s := f.commands[c]
			s.p99 = max(s.p99, v)
			f.commands[c] = s
		case len(name) > 2 && strings.HasPrefix(name, "db") && strings.HasPrefix(value, "keys="):
			n, _ := strconv.ParseFloat(parts(value)["keys"], 64)
			f.keys += n
		default:
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				f.values[name] += v
			} else {
				f.words[name] = value
			}
		}
	}
}

func (f *figures) addCommand(name, value string) {
	p := parts(value)
	s := f.commands[name]
	calls, _ := strconv.ParseFloat(p["calls"], 64)
	usec, _ := strconv.ParseFloat(p["usec"], 64)
	failed, _ := strconv.ParseFloat(p["failed_calls"], 64)
	rejected, _ := strconv.ParseFloat(p["rejected_calls"], 64)
	s.calls, s.usec, s.failed = s.calls+calls, s.usec+usec, s.failed+failed+rejected
	f.commands[name] = s
}

// parts reads a=1,b=2.
func parts(s string) map[string]string {
	m := make(map[string]string)
	for _, p := range strings.Split(s, ",") {
		if k, v, ok := strings.Cut(p, "="); ok {
			m[k] = v
		}
	}
	return m
}

// examine looks when it is time to; else it returns nil. An error is for a server that
// is away.
func (d *doctor) examine(ctx context.Context, c redis.UniversalClient, at limiter.Instant, embedded bool) (*model.Health, error) {
	if now := time.Now(); now.Before(d.next) {
		return nil, nil
	} else {
		d.next = now.Add(healthEvery)
	}
	if d.shut == nil {
		d.shut = make(map[string]string)
	}
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	h := &model.Health{At: at}
	if embedded {
		h.Missing = []string{"the embedded Redis does not tell how it does"}
		return h, nil
	}
	now := newFigures()
	if err := d.info(ctx, c, &now); err != nil {
		return nil, err
	}
	slow, err := d.slowlog(ctx, c)
	if err != nil {
		return nil, err
	}
	h.Slow = slow
	over := at.Sub(d.at)
	if d.at != 0 && d.before.same(&now) && over > 0 {
		h.Over = over
	}
	fillHealth(h, &now, &d.before)
	for _, name := range slices.Sorted(maps.Keys(d.shut)) {
		h.Missing = append(h.Missing, fmt.Sprintf("%s may not be asked by this user: %s", strings.ToUpper(name), d.shut[name]))
	}
	d.before, d.at = now, at
	return h, nil
}

// forbidden notes a missing permission. Every other error reply is passed over, for a
// server that does not know a command has nothing to say with it.
func (d *doctor) forbidden(command string, err error) error {
	switch {
	case away(err):
		return err
	case code(err) == "NOPERM":
		d.shut[command] = remedy(err)
	}
	return nil
}

func (d *doctor) info(ctx context.Context, c redis.UniversalClient, f *figures) error {
	if d.shut["info"] != "" {
		return nil
	}
	var mu sync.Mutex
	ask := func(ctx context.Context, node *redis.Client) error {
		text, err := node.Info(ctx, sections...).Result()
		if err != nil && !away(err) && code(err) != "NOPERM" {
			text, err = node.Info(ctx, "all").Result()
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		f.add(text)
		return nil
	}
	var err error
	switch c := c.(type) {
	case *redis.ClusterClient:
		// A node that is down leaves its figures out; the readings say that it is.
		_ = c.ForEachMaster(ctx, ask)
	case *redis.Client:
		err = ask(ctx, c)
	}
	if err != nil {
		return d.forbidden("info", err)
	}
	return nil
}

func (d *doctor) slowlog(ctx context.Context, c redis.UniversalClient) ([]model.SlowCommand, error) {
	node, single := c.(*redis.Client)
	if !single || d.shut["slowlog"] != "" {
		return nil, nil
	}
	logs, err := node.SlowLogGet(ctx, mostSlow).Result()
	if err != nil {
		return nil, d.forbidden("slowlog", err)
	}
	out := make([]model.SlowCommand, 0, len(logs))
	for _, l := range logs {
		text := strings.Join(l.Args, " ")
		out = append(out, model.SlowCommand{ID: l.ID, At: limiter.InstantOf(l.Time), Took: l.Duration, Command: text[:min(len(text), longestSlow)]})
	}
	return out, nil
}

// same says that both looks are at the same life of the server: after a restart its sums
// begin anew.
func (f *figures) same(now *figures) bool {
	return f.words["run_id"] == now.words["run_id"] && f.values["total_commands_processed"] <= now.values["total_commands_processed"]
}

// fillHealth works the figures out.
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
	h.LinkUp = now.words["master_link_status"] == "up"
	h.Lag = lag(now)
	h.Commands = commandStats(h.Over, now, before)
	h.Errors = errorStats(h.Over, now, before)
}

// lag is how many bytes the slowest replica is behind, or this replica behind its master.
func lag(f *figures) model.Measure {
	master, ok := f.values["master_repl_offset"]
	if f.words["role"] == "slave" {
		own, known := f.values["slave_repl_offset"]
		return model.Measure{Known: ok && known, V: max(master-own, 0)}
	}
	m := model.Measure{}
	for name, value := range f.words {
		if n, isReplica := strings.CutPrefix(name, "slave"); isReplica && n != "" && n[0] >= '0' && n[0] <= '9' {
			if offset, err := strconv.ParseFloat(parts(value)["offset"], 64); err == nil {
				m = model.Measure{Known: true, V: max(m.V, master-offset)}
			}
		}
	}
	return m
}

// scripted are the commands that run scripts.
func scripted(name string) bool {
	return strings.HasPrefix(name, "eval") || strings.HasPrefix(name, "fcall")
}

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
		c := costed{CommandStat: model.CommandStat{Name: name, Total: int64(s.calls), P99: time.Duration(s.p99 * 1e3), Scripts: scripted(name)}, spent: usec}
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

func errorStats(over time.Duration, now, before *figures) []model.ErrorStat {
	out := make([]model.ErrorStat, 0, len(now.errors))
	for name, n := range now.errors {
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

// tellPrices tells the purse what the reading commands cost, as the server measures them over
// all its clients.
func (f *figures) tellPrices(p *purse) {
	prices := make(map[string]time.Duration)
	for name, s := range f.commands {
		if _, known := reading[name]; known && s.calls > 0 {
			prices[name] = time.Duration(s.usec / s.calls * 1e3)
		}
	}
	if len(prices) > 0 {
		p.prices = prices
	}
}
