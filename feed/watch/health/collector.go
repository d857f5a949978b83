// Package health collects the health of the watched server: it asks for INFO, SLOWLOG and
// LATENCY every two seconds, and calculates rates from the counters.
package health

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Collector examines the server, or all watched nodes of a cluster. Commands that this user may not call are repeated after askAgain at
// the earliest, and the missing permission is named in Health.Missing. The zero value is ready; it is used by one goroutine.
type Collector struct {
	before figures
	at     limiter.Instant   // of the previous examination, by the server's clock
	shut   map[string]string // command that is not answered → why, and what would permit it
	since  limiter.Instant   // from which shut is; after askAgain the commands are sent again
	prices map[string]time.Duration
}

// Examination is the result of one call of Examine.
type Examination struct {
	Health *model.Health
	Costs  Costs // must not be changed
	// Cost is about the server time of the examination. INFO is the dearest of all commands
	// sent, and takes longer the more kinds of commands a server has seen (Redis 7.0 to 8.6).
	Cost time.Duration
}

// Every is the time between two examinations.
const Every = 2 * time.Second

const (
	askAgain    = 5 * time.Minute        // pause after a command that was refused
	lookPrice   = 300 * time.Microsecond // server time of the commands of one examination
	mostListed  = 12                     // commands, and kinds of errors
	mostSlow    = 16                     // entries of the slow log
	longestSlow = 200                    // bytes of a name in the slow log
	mostSpikes  = 8                      // latency events
)

// sections lists the sections of INFO that are used. Before Redis 7, INFO all replaces them.
var sections = []string{"server", "clients", "memory", "persistence", "stats", "replication", "cpu", "commandstats", "errorstats",
	"latencystats", "keyspace"}

// Examine asks all nodes at the same time, each in one round trip; at is the server's clock.
// The figures of nodes that do not answer are left out. It fails when no node answers.
func (c *Collector) Examine(ctx context.Context, nodes []*redis.Client, at limiter.Instant) (Examination, error) {
	if c.shut == nil || at.Sub(c.since) > askAgain {
		c.shut, c.since = make(map[string]string), at
	}
	answers := make([]answer, len(nodes))
	goroutine.AtOnce(len(nodes), func(i int) { answers[i] = c.ask(ctx, nodes[i]) })
	h, now := &model.Health{At: at}, figures{values: map[string]float64{}, words: map[string]string{}, commands: map[string]commandSums{},
		errors: map[string]float64{}, failed: map[string]bool{}}
	var lost error
	for _, a := range answers {
		if err := c.take(a, &now, h); err != nil {
			lost = err
			continue
		}
		h.Nodes++
	}
	if h.Nodes == 0 {
		return Examination{}, lost
	}
	slices.SortStableFunc(h.Slow, func(a, b model.SlowCommand) int { return cmp.Compare(b.At, a.At) })
	h.Slow = h.Slow[:min(len(h.Slow), mostSlow)]
	slices.SortStableFunc(h.Spikes, func(a, b model.Spike) int { return cmp.Compare(b.At, a.At) })
	h.Spikes = h.Spikes[:min(len(h.Spikes), mostSpikes)]
	over := at.Sub(c.at)
	if c.at != 0 && c.before.same(&now) && over > 0 {
		h.Over = cmp.Or(now.since(&c.before, h.Nodes), over)
	}
	fillHealth(h, &now, &c.before)
	missing := func(name string) string { return strings.ToUpper(name) + " " + c.shut[name] }
	h.Missing = append(h.Missing, collect.Map(slices.Sorted(maps.Keys(c.shut)), missing)...)
	c.reprice(&now)
	costs := Costs{Exec: maps.Clone(c.prices), Turn: TurnAt(h.CPU.V / float64(h.Nodes))} // of an idle one, where the load is not known
	costs.Strained = h.CPU.Known && h.CPU.V >= strainedAt*float64(h.Nodes)
	e := Examination{Health: h, Costs: costs, Cost: time.Duration(h.Nodes) * (lookPrice + costs.Turn)}
	c.before, c.at = now, at
	return e, nil
}

// forbidden notes a command that the user may not run or that the server does not know. Other error
// replies are ignored. It returns err if the node is away.
func (c *Collector) forbidden(command string, err error) error {
	switch {
	case connect.Away(err):
		return err
	case connect.Code(err) == "NOPERM":
		c.shut[command] = "may not be asked by this user: " + connect.Remedy(err)
	case err != nil && strings.HasPrefix(strings.ToLower(err.Error()), "err unknown command"):
		c.shut[command] = "is not known to this server: it was renamed or switched off there"
	}
	return nil
}

// answer holds the replies of one node; of a command that was not sent an empty one.
type answer struct {
	info    *redis.StringCmd
	slow    *redis.SlowLogCmd
	latency *redis.LatencyCmd
}

// ask asks one node. It only reads c, so that several nodes can be asked at once.
func (c *Collector) ask(ctx context.Context, node *redis.Client) answer {
	pipe, a := node.Pipeline(), answer{redis.NewStringCmd(ctx), redis.NewSlowLogCmd(ctx), redis.NewLatencyCmd(ctx)}
	if c.shut["info"] == "" {
		a.info = pipe.Info(ctx, sections...)
	}
	if c.shut["slowlog"] == "" {
		a.slow = pipe.SlowLogGet(ctx, mostSlow)
	}
	if c.shut["latency"] == "" {
		a.latency = pipe.Latency(ctx)
	}
	_, _ = pipe.Exec(ctx) // each command holds its own error
	if err := a.info.Err(); err != nil && !connect.Away(err) && connect.Code(err) != "NOPERM" {
		a.info = node.Info(ctx, "all") // before Redis 7 INFO takes one section
	}
	return a
}

// take adds the answer of one node to the figures of all. It fails when the node is away.
func (c *Collector) take(a answer, f *figures, h *model.Health) error {
	err := cmp.Or(c.forbidden("info", a.info.Err()), c.forbidden("slowlog", a.slow.Err()), c.forbidden("latency", a.latency.Err()))
	if err != nil {
		return err
	}
	if a.info.Err() == nil {
		f.add(a.info.Val())
	}
	h.Slow = append(h.Slow, collect.Map(a.slow.Val(), slowCommand)...)
	for _, s := range a.latency.Val() {
		h.Spikes = append(h.Spikes, model.Spike{Event: clipped(s.Name), At: limiter.InstantOf(s.Time), Latest: s.Latest, Most: s.Max})
	}
	return nil
}

// enoughCalls is how many calls of a command since the previous examination give its price.
const enoughCalls = 10

// dearest bounds the mean execution time of a command to this multiple of its median: a greater
// mean includes time in which the server waited for a processor.
const dearest = 4

// reprice calculates the mean execution time of the read commands since the previous examination.
func (c *Collector) reprice(now *figures) {
	for name, s := range now.commands {
		was := c.before.commands[name]
		calls, usec := s.calls-was.calls, s.usec-was.usec
		if calls < 0 { // the server was restarted
			calls, usec = s.calls, s.usec
		}
		if !connect.IsReadCommand(name) || calls < enoughCalls {
			continue
		}
		mean := usec / calls
		if s.p50 > 0 {
			mean = min(mean, dearest*s.p50)
		}
		collect.Put(&c.prices, name, time.Duration(mean*1e3))
	}
}

// strainedAt is the share of a core from which a server counts as almost saturated.
const strainedAt = 0.8

// figures holds the fields of INFO, summed over the nodes of a server since their start.
type figures struct {
	values   map[string]float64     // numbers, by their names in INFO
	words    map[string]string      // texts, by their names in INFO
	commands map[string]commandSums // commandstats, by command
	errors   map[string]float64     // errorstats, by error code
	keys     float64                // keys in all databases

	lag     model.Measure   // the greatest replication lag of all nodes, in bytes
	unheard model.Measure   // the longest silence of a master toward a replica, in seconds
	unlink  bool            // a replica has no link to its master
	failed  map[string]bool // what could not be written to the disk, in words of writes
}

// commandSums holds the statistics of one command: numbers of calls, and times in µs.
type commandSums struct {
	calls, usec, failed, p50, p99 float64
}

// add adds the INFO of one node.
func (f *figures) add(text string) {
	fields := connect.ParseInfo(text)
	f.replicate(fields)
	for field, what := range writes {
		if v := fields[field]; v != "" && v != "ok" {
			f.failed[what] = true
		}
	}
	for name, value := range fields {
		kind, rest, _ := strings.Cut(name, "_")
		switch {
		case kind == "cmdstat":
			s, p := f.commands[rest], parts(value)
			s.calls, s.usec, s.failed = s.calls+p["calls"], s.usec+p["usec"], s.failed+p["failed_calls"]+p["rejected_calls"]
			f.commands[rest] = s
		case kind == "errorstat":
			f.errors[rest] += parts(value)["count"]
		case strings.HasPrefix(name, "latency_percentiles_usec_"):
			c := strings.TrimPrefix(name, "latency_percentiles_usec_")
			p := parts(value)
			s := f.commands[c]
			s.p50, s.p99 = max(s.p50, p["p50"]), max(s.p99, p["p99"])
			f.commands[c] = s
		case name == "run_id":
			f.words[name] += value + " " // of all nodes: sums over other nodes are not compared
		case len(name) > 2 && strings.HasPrefix(name, "db") && strings.HasPrefix(value, "keys="):
			f.keys += parts(value)["keys"]
		default:
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				f.values[name] += v
			} else {
				f.words[name] = value
			}
		}
	}
}

// parts parses fields of the form a=1,b=2, of which it leaves out those that are no numbers.
func parts(s string) map[string]float64 {
	m := make(map[string]float64)
	for p := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(p, "=")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = v
		}
	}
	return m
}

// same reports whether both figures are from the same processes of the same nodes: after a restart their counters begin at 0.
func (f *figures) same(now *figures) bool {
	return f.words["run_id"] == now.words["run_id"] && f.values["total_commands_processed"] <= now.values["total_commands_processed"]
}

// since returns the time from the figures before to now by the clocks of so many nodes, which INFO tells: the
// moment of asking is another one where the way is long. It is 0 where they do not tell, or one was set.
func (f *figures) since(before *figures, nodes int) time.Duration {
	const field = "server_time_usec"
	d := time.Duration((f.values[field]-before.values[field])/float64(nodes)) * time.Microsecond
	return collect.If(before.values[field] == 0 || d <= Every/10 || d > 100*Every, 0, d)
}

// writes maps the fields of INFO that hold the status of writing to the disk, "ok" or "err", to what is written.
var writes = map[string]string{
	"rdb_last_bgsave_status":    "the last snapshot",
	"aof_last_write_status":     "the last write to the append-only file",
	"aof_last_bgrewrite_status": "the last rewrite of the append-only file",
}

// replicate adds the replication fields of one node: for a master, how many bytes its slowest replica is behind; for a replica, how
// many bytes it has received and not applied, and how long ago it last heard from its master.
func (f *figures) replicate(fields map[string]string) {
	number := func(text string) model.Measure {
		v, err := strconv.ParseFloat(text, 64)
		return model.Measure{Known: err == nil, V: v}
	}
	behind := func(most, least model.Measure) {
		if most.Known && least.Known {
			f.lag = model.Measure{Known: true, V: max(f.lag.V, most.V-least.V)}
		}
	}
	if fields["role"] == "slave" {
		behind(number(fields["slave_read_repl_offset"]), number(fields["slave_repl_offset"]))
		silence := number(fields["master_last_io_seconds_ago"])
		if fields["master_link_status"] != "up" {
			f.unlink = true
			silence = number(fields["master_link_down_since_seconds"])
		}
		if silence.Known && silence.V >= 0 {
			f.unheard = model.Measure{Known: true, V: max(f.unheard.V, silence.V)}
		}
		return
	}
	for name, value := range fields {
		if n, isReplica := strings.CutPrefix(name, "slave"); isReplica && n != "" && n[0] >= '0' && n[0] <= '9' {
			at, known := parts(value)["offset"]
			behind(number(fields["master_repl_offset"]), model.Measure{Known: known, V: at})
		}
	}
}
