// Package health tells how the server behind the keys does: it asks INFO, SLOWLOG and
// LATENCY every two seconds and works out rates from what they say.
package health

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/watch/cost"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/model"
)

// Collector examines the server, or all nodes of a cluster that are read. What a
// permission forbids is not asked again, and named. The zero value is ready; it is used by
// one goroutine.
type Collector struct {
	before figures
	at     limiter.Instant
	shut   map[string]string // command → remedy, for what is not asked any more
	prices map[string]time.Duration
	waker  cost.Waker
}

// Examination is what one look found.
type Examination struct {
	Health *model.Health
	// Prices are what the reading commands cost a call, as the server measures them over all
	// its clients; empty while it does not tell. It must not be changed.
	Prices map[string]time.Duration
	// RoundTrip is what a server takes for one beside its commands.
	RoundTrip time.Duration
	// Strained is set when the server had hardly any time to spare since the look before, or
	// the servers of a cluster on average: each of them decides on one core.
	Strained bool
	// Cost is what the look took of the servers, about: INFO is the dearest command of a round,
	// and takes the longer the more commands a server has seen (Redis 7.0 to 8.6).
	Cost time.Duration
}

// Every is the time between two examinations.
const Every = 2 * time.Second

const (
	lookPrice   = 300 * time.Microsecond
	mostListed  = 12
	mostSlow    = 16
	longestSlow = 200 // bytes of a name in the slow log
	mostSpikes  = 8
)

// sections of INFO that are looked at; before Redis 7 "all" is asked instead.
var sections = []string{"server", "clients", "memory", "persistence", "stats", "replication", "cpu", "commandstats", "errorstats", "latencystats", "keyspace"}

// Examine asks all nodes at once, each in one round trip; at is the server's clock. A node
// that does not answer leaves its figures out; the error is for servers of which none does.
func (d *Collector) Examine(ctx context.Context, nodes []*redis.Client, at limiter.Instant) (Examination, error) {
	if d.shut == nil {
		d.shut = make(map[string]string)
	}
	answers := make([]answer, len(nodes))
	asking, _ := panics.NewGroup(ctx)
	for i, node := range nodes {
		asking.Go(func() { answers[i] = d.ask(ctx, node) })
	}
	if err := asking.Wait(); err != nil {
		return Examination{}, err
	}
	h, now := &model.Health{At: at}, newFigures()
	var lost error
	answered := 0
	for _, a := range answers {
		if err := d.take(a, &now, h); err != nil {
			lost = err
			continue
		}
		answered++
	}
	if answered == 0 {
		return Examination{}, lost
	}
	slices.SortStableFunc(h.Slow, func(a, b model.SlowCommand) int { return cmp.Compare(b.At, a.At) })
	h.Slow = h.Slow[:min(len(h.Slow), mostSlow)]
	slices.SortStableFunc(h.Spikes, func(a, b model.Spike) int { return cmp.Compare(b.At, a.At) })
	h.Spikes = h.Spikes[:min(len(h.Spikes), mostSpikes)]
	over := at.Sub(d.at)
	if d.at != 0 && d.before.same(&now) && over > 0 {
		h.Over = over
	}
	fillHealth(h, &now, &d.before)
	for _, name := range slices.Sorted(maps.Keys(d.shut)) {
		h.Missing = append(h.Missing, fmt.Sprintf("%s may not be asked by this user: %s", strings.ToUpper(name), d.shut[name]))
	}
	d.reprice(&now)
	e := Examination{Health: h, Prices: maps.Clone(d.prices), Cost: time.Duration(answered) * lookPrice}
	e.Strained = h.CPU.Known && h.CPU.V >= strainedAt*float64(answered)
	e.RoundTrip = d.waker.Learn(idleness(h, &now, &d.before, answered))
	e.Cost += e.RoundTrip * time.Duration(answered)
	d.before, d.at = now, at
	return e, nil
}

// forbidden notes a missing permission. Every other error reply is passed over, for a
// server that does not know a command has nothing to say with it.
func (d *Collector) forbidden(command string, err error) error {
	switch {
	case connect.Away(err):
		return err
	case connect.Code(err) == "NOPERM":
		d.shut[command] = connect.Remedy(err)
	}
	return nil
}

// answer is what one node said; a command that is not asked any more is nil.
type answer struct {
	info    *redis.StringCmd
	slow    *redis.SlowLogCmd
	latency *redis.LatencyCmd
}

// ask asks one node. It only reads d, so that several nodes can be asked at once.
func (d *Collector) ask(ctx context.Context, node *redis.Client) (a answer) {
	pipe := node.Pipeline()
	if d.shut["info"] == "" {
		a.info = pipe.Info(ctx, sections...)
	}
	if d.shut["slowlog"] == "" {
		a.slow = pipe.SlowLogGet(ctx, mostSlow)
	}
	if d.shut["latency"] == "" {
		a.latency = pipe.Latency(ctx)
	}
	if pipe.Len() == 0 {
		return a
	}
	_, _ = pipe.Exec(ctx) // each command holds its own error
	if a.info != nil {
		if err := a.info.Err(); err != nil && !connect.Away(err) && connect.Code(err) != "NOPERM" {
			a.info = node.Info(ctx, "all") // before Redis 7 INFO takes one section
		}
	}
	return a
}

// take adds the answer of a node to the figures of all. The error is for a node that does
// not answer.
func (d *Collector) take(a answer, f *figures, h *model.Health) error {
	if a.info != nil {
		if err := d.forbidden("info", a.info.Err()); err != nil {
			return err
		}
		if a.info.Err() == nil {
			f.add(a.info.Val())
		}
	}
	if a.slow != nil {
		if err := d.forbidden("slowlog", a.slow.Err()); err != nil {
			return err
		}
		for _, l := range a.slow.Val() {
			h.Slow = append(h.Slow, slowCommand(l))
		}
	}
	if a.latency != nil {
		if err := d.forbidden("latency", a.latency.Err()); err != nil {
			return err
		}
		for _, s := range a.latency.Val() {
			h.Spikes = append(h.Spikes, model.Spike{Event: s.Name[:min(len(s.Name), longestSlow)], At: limiter.InstantOf(s.Time), Latest: s.Latest, Most: s.Max})
		}
	}
	return nil
}

// enoughCalls is how many calls of a command since the look before tell its price.
const enoughCalls = 10

// dearest is how many times its median a command may cost on average: what is more is the
// server waiting for a processor, not working.
const dearest = 4

// reprice works out what the reading commands cost a call since the look before.
func (d *Collector) reprice(now *figures) {
	for name, s := range now.commands {
		was := d.before.commands[name]
		calls, usec := s.calls-was.calls, s.usec-was.usec
		if calls < 0 { // another life of the server
			calls, usec = s.calls, s.usec
		}
		if !connect.IsReadCommand(name) || calls < enoughCalls {
			continue
		}
		mean := usec / calls
		if s.p50 > 0 {
			mean = min(mean, dearest*s.p50)
		}
		if d.prices == nil {
			d.prices = make(map[string]time.Duration)
		}
		d.prices[name] = time.Duration(mean * 1e3)
	}
}

// strainedAt is the share of a core from which on a server counts as strained.
const strainedAt = 0.8

// idleness sums up what the servers did since the look before. Commands that scripts call are
// counted a second time in the time of their script, so that with scripts all of these may be
// among the others: what was executed is then told too low, and a turn too dear.
func idleness(h *model.Health, now, before *figures, nodes int) cost.Idleness {
	i := cost.Idleness{Nodes: nodes}
	if !h.CPU.Known {
		return i
	}
	since := func(name string) float64 { return now.values[name] - before.values[name] }
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	i.Over, i.CPU = h.Over, seconds(h.CPU.V*h.Over.Seconds())
	i.Reads, i.Commands = since("total_reads_processed"), since("total_commands_processed")
	plain, scripts := 0.0, 0.0
	for name, s := range now.commands {
		usec := max(s.usec-before.commands[name].usec, 0)
		if scripted(name) {
			scripts += usec
		} else {
			plain += usec
		}
	}
	i.Executed = seconds(max(plain, scripts) / 1e6)
	return i
}
