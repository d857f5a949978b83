// Package condition tells how the server behind the keys does: it asks INFO, SLOWLOG and
// LATENCY every two seconds and works out rates from what they say.
package condition

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
	"ratescope/feed/tariff"
	"ratescope/limiter"
	"ratescope/model"
)

// Doctor looks at the health of the server, or of all nodes of a cluster that are read, every
// healthEvery. What a permission forbids is not asked again, and named.
type Doctor struct {
	next   time.Time
	before figures
	at     limiter.Instant
	shut   map[string]string // command → remedy, for what is not asked any more
	prices map[string]time.Duration
	spent  time.Duration

	strained bool
	waker    tariff.Waker
	turn     time.Duration
}

const (
	healthEvery = 2 * time.Second
	lookPrice   = 300 * time.Microsecond
	mostListed  = 12
	mostSlow    = 16
	longestSlow = 200 // bytes of a slow command
	mostSpikes  = 8
)

// sections of INFO that are looked at; before Redis 7 "all" is asked instead.
var sections = []string{"server", "clients", "memory", "persistence", "stats", "replication", "cpu", "commandstats", "errorstats", "latencystats", "keyspace"}

// Examine looks when it is time to; else it returns nil. An error is for a server that
// is away.
func (d *Doctor) Examine(ctx context.Context, nodes func(context.Context) ([]*redis.Client, error), at limiter.Instant, embedded bool) (*model.Health, error) {
	if now := time.Now(); now.Before(d.next) {
		return nil, nil
	} else {
		d.next = now.Add(healthEvery)
	}
	if d.shut == nil {
		d.shut = make(map[string]string)
	}
	ctx, cancel := context.WithTimeout(ctx, connect.Timeout)
	defer cancel()
	h := &model.Health{At: at}
	if embedded {
		h.Missing = []string{"the embedded Redis does not tell how it does"}
		return h, nil
	}
	all, err := nodes(ctx)
	if len(all) == 0 {
		return nil, err
	}
	now := newFigures()
	d.spent = time.Duration(len(all)) * lookPrice
	for _, node := range all {
		// A node of a cluster that is down leaves its figures out; the readings say that it is.
		if err := d.ask(ctx, node, &now, h); err != nil && len(all) == 1 {
			return nil, err
		}
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
	d.strained = h.CPU.Known && h.CPU.V >= strainedAt*float64(len(all))
	d.turn = d.waker.Learn(idleness(h, &now, &d.before, len(all)))
	d.spent += 3 * d.turn * time.Duration(len(all))
	d.before, d.at = now, at
	return h, nil
}

// forbidden notes a missing permission. Every other error reply is passed over, for a
// server that does not know a command has nothing to say with it.
func (d *Doctor) forbidden(command string, err error) error {
	switch {
	case connect.Away(err):
		return err
	case connect.Code(err) == "NOPERM":
		d.shut[command] = connect.Remedy(err)
	}
	return nil
}

// ask asks one node.
func (d *Doctor) ask(ctx context.Context, node *redis.Client, f *figures, h *model.Health) error {
	if d.shut["info"] == "" {
		text, err := node.Info(ctx, sections...).Result()
		if err != nil && !connect.Away(err) && connect.Code(err) != "NOPERM" {
			text, err = node.Info(ctx, "all").Result()
		}
		if err == nil {
			f.add(text)
		} else if err := d.forbidden("info", err); err != nil {
			return err
		}
	}
	if d.shut["slowlog"] == "" {
		logs, err := node.SlowLogGet(ctx, mostSlow).Result()
		if err := d.forbidden("slowlog", err); err != nil {
			return err
		}
		for _, l := range logs {
			text := strings.Join(l.Args, " ")
			h.Slow = append(h.Slow, model.SlowCommand{ID: l.ID, At: limiter.InstantOf(l.Time), Took: l.Duration, Command: text[:min(len(text), longestSlow)]})
		}
	}
	if d.shut["latency"] == "" {
		spikes, err := node.Latency(ctx).Result()
		if err := d.forbidden("latency", err); err != nil {
			return err
		}
		for _, s := range spikes {
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
func (d *Doctor) reprice(now *figures) {
	for name, s := range now.commands {
		was := d.before.commands[name]
		calls, usec := s.calls-was.calls, s.usec-was.usec
		if calls < 0 { // another life of the server
			calls, usec = s.calls, s.usec
		}
		if !connect.Reads(name) || calls < enoughCalls {
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

// Strained says that the server had hardly any time to spare between the last two looks, or
// the servers of a cluster on average: each of them decides on one core.
func (d *Doctor) Strained() bool { return d.strained }

// Cost returns what the last look took of the servers, about: INFO is the dearest of what is
// asked, and takes the longer the more commands a server has seen (Redis 7.0 to 8.6).
func (d *Doctor) Cost() time.Duration { return d.spent }

// idleness sums up what the servers did since the look before. Commands that scripts call are
// counted a second time in the time of their script, so that with scripts all of these may be
// among the others: what was executed is then told too low, and a turn too dear.
func idleness(h *model.Health, now, before *figures, nodes int) tariff.Idleness {
	i := tariff.Idleness{Nodes: nodes}
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

// Turn returns what the servers take for a turn, beside its commands.
func (d *Doctor) Turn() time.Duration { return d.turn }

// Prices returns what the reading commands cost a call, as the server measures them over
// all its clients; empty while it does not tell. It must not be changed.
func (d *Doctor) Prices() map[string]time.Duration { return d.prices }
