// Package health collects the health of the watched server: it asks for INFO, SLOWLOG and
// LATENCY every two seconds, and calculates rates from the counters.
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

// Collector examines the server, or all watched nodes of a cluster. Commands that this user
// may not call are not repeated, and the missing permission is named in Health.Missing. The
// zero value is ready; it is used by one goroutine.
type Collector struct {
	before figures
	at     limiter.Instant   // of the previous examination, by the server's clock
	shut   map[string]string // forbidden command → the ACL command that would permit it
	prices map[string]time.Duration
}

// Examination is the result of one call of Examine.
type Examination struct {
	Health *model.Health
	// Prices holds the mean execution time of the read commands, as the server measures it over
	// all its clients; empty if the server does not report it. It must not be changed.
	Prices map[string]time.Duration
	// RoundTrip is the server time of one round trip without its commands.
	RoundTrip time.Duration
	// Strained is set when the server was almost saturated since the previous examination. For
	// a cluster the mean of its nodes counts, each of which executes commands on one core.
	Strained bool
	// Cost is about the server time of the examination. INFO is the dearest of all commands
	// sent, and takes longer the more kinds of commands a server has seen (Redis 7.0 to 8.6).
	Cost time.Duration
}

// Every is the time between two examinations.
const Every = 2 * time.Second

const (
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
	if c.shut == nil {
		c.shut = make(map[string]string)
	}
	answers := make([]answer, len(nodes))
	asking, _ := panics.NewGroup(ctx)
	for i, node := range nodes {
		asking.Go(func() { answers[i] = c.ask(ctx, node) })
	}
	if err := asking.Wait(); err != nil {
		return Examination{}, err
	}
	h, now := &model.Health{At: at}, newFigures()
	var lost error
	answered := 0
	for _, a := range answers {
		if err := c.take(a, &now, h); err != nil {
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
	over := at.Sub(c.at)
	if c.at != 0 && c.before.same(&now) && over > 0 {
		h.Over = cmp.Or(now.since(&c.before, answered), over)
	}
	fillHealth(h, &now, &c.before)
	for _, name := range slices.Sorted(maps.Keys(c.shut)) {
		h.Missing = append(h.Missing, fmt.Sprintf("%s may not be asked by this user: %s", strings.ToUpper(name), c.shut[name]))
	}
	c.reprice(&now)
	e := Examination{Health: h, Prices: maps.Clone(c.prices), Cost: time.Duration(answered) * lookPrice}
	e.Strained = h.CPU.Known && h.CPU.V >= strainedAt*float64(answered)
	e.RoundTrip = cost.TurnAt(h.CPU.V / float64(answered)) // of an idle one, where the load is not known
	e.Cost += e.RoundTrip * time.Duration(answered)
	c.before, c.at = now, at
	return e, nil
}

// forbidden notes a missing permission. Other error replies are ignored, since a server may
// not know the command. It returns err if the node is away.
func (c *Collector) forbidden(command string, err error) error {
	switch {
	case connect.Away(err):
		return err
	case connect.Code(err) == "NOPERM":
		c.shut[command] = connect.Remedy(err)
	}
	return nil
}

// answer holds the replies of one node; a command that was not sent is nil.
type answer struct {
	info    *redis.StringCmd
	slow    *redis.SlowLogCmd
	latency *redis.LatencyCmd
}

// ask asks one node. It only reads c, so that several nodes can be asked at once.
func (c *Collector) ask(ctx context.Context, node *redis.Client) (a answer) {
	pipe := node.Pipeline()
	if c.shut["info"] == "" {
		a.info = pipe.Info(ctx, sections...)
	}
	if c.shut["slowlog"] == "" {
		a.slow = pipe.SlowLogGet(ctx, mostSlow)
	}
	if c.shut["latency"] == "" {
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

// take adds the answer of one node to the figures of all. It fails when the node is away.
func (c *Collector) take(a answer, f *figures, h *model.Health) error {
	if a.info != nil {
		if err := c.forbidden("info", a.info.Err()); err != nil {
			return err
		}
		if a.info.Err() == nil {
			f.add(a.info.Val())
		}
	}
	if a.slow != nil {
		if err := c.forbidden("slowlog", a.slow.Err()); err != nil {
			return err
		}
		for _, l := range a.slow.Val() {
			h.Slow = append(h.Slow, slowCommand(l))
		}
	}
	if a.latency != nil {
		if err := c.forbidden("latency", a.latency.Err()); err != nil {
			return err
		}
		for _, s := range a.latency.Val() {
			h.Spikes = append(h.Spikes, model.Spike{Event: s.Name[:min(len(s.Name), longestSlow)], At: limiter.InstantOf(s.Time), Latest: s.Latest,
				Most: s.Max})
		}
	}
	return nil
}

// enoughCalls is how many calls of a command since the previous examination give its price.
const enoughCalls = 10

// dearest bounds the mean execution time of a command to this multiple of its median: a greater
// mean includes time in which the server waited for a processor.
const dearest = 4

// reprice calculates the mean execution time of the read commands since the previous
// examination.
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
		if c.prices == nil {
			c.prices = make(map[string]time.Duration)
		}
		c.prices[name] = time.Duration(mean * 1e3)
	}
}

// strainedAt is the share of a core from which a server counts as almost saturated.
const strainedAt = 0.8
