package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/watch/hotkeys"
	"ratescope/limiter"
	"ratescope/model"
)

// ranker finds the hottest keys of a server that may have far more than are read: it samples
// the writes, has the keys that are written most looked at although SCAN has not come by,
// and makes room for them among those that are read.
type ranker struct {
	client   redis.UniversalClient // speaks RESP3; nil on the embedded server
	nodes    *connect.Nodes        // of client
	writes   *hotkeys.Writes
	retained *retained // nil on the embedded server

	next    time.Time
	asked   map[string]time.Time // limiters that were looked at for their heat
	rates   map[string]float64   // what is sure of the writes a second of the hottest
	report  retainedReport       // the latest
	coldest []*tracked           // trackers that may be evicted, the first to go last; nil when not worked out
	leftOut []string             // limiters that went since the last batch
	news    *model.HotKeys
}

// The pace of the ranking.
const (
	rankEvery    = 500 * time.Millisecond
	hottest      = 64               // keys that are looked at for their heat
	askAgain     = 10 * time.Second // a key that was looked at and not taken
	samplesShare = 0.25             // of the budget goes to sampling writes
	coldEnough   = 1                // readings in a row without news
)

// newRanker prepares to sample with a client of its own; without one, nothing is ranked.
func newRanker(c redis.UniversalClient, nodes *connect.Nodes, o Options, now func() limiter.Instant) *ranker {
	return &ranker{
		client: c, nodes: nodes, asked: make(map[string]time.Time),
		writes: hotkeys.NewWrites(hotkeys.WritesOptions{
			Share: samplesShare * cmp.Or(max(o.Budget, 0), DefaultBudget), Prefixes: prefixes(o.Watch), Now: now,
			Name: func(key string) (string, bool) {
				name := decode.NameOf(key, now())
				return name, covers(o.Watch, key, name) && o.Slots.Has(name)
			},
		}),
	}
}

// covers reports whether the patterns cover a key or the limiter that it belongs to.
func covers(patterns []string, key, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return config.MatchGlob(p, key) || config.MatchGlob(p, name) })
}

// prefixes returns what all keys that the patterns cover begin with, the counters of this
// library in their braces too; nil for every key.
func prefixes(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		fixed := p[:len(p)-len(strings.TrimLeftFunc(p, func(r rune) bool { return !strings.ContainsRune(`*?[\`, r) }))]
		if fixed == "" {
			return nil
		}
		all = append(all, fixed, "{"+fixed)
	}
	slices.Sort(all)
	// One that begins another stands for both.
	kept := all[:0]
	for _, p := range all {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// run samples writes until ctx ends.
func (k *ranker) run(ctx context.Context, live func() bool) {
	if k.client == nil {
		return
	}
	k.writes.Run(ctx, func(ctx context.Context) []*redis.Client {
		if !live() {
			return nil
		}
		all, _ := k.nodes.All(ctx) // that a cluster is away is said elsewhere
		return all
	}, nil)
}

// rank ranks the keys that are written, and has those looked at that are not read yet. at is a
// moment of the server's clock, and cost what hearing of them has taken of it.
func (l *limiters) rank(now time.Time, at limiter.Instant) (cost time.Duration) {
	k := l.ranker
	k.coldest = nil
	if k.client == nil || now.Before(k.next) {
		return 0
	}
	k.next = now.Add(rankEvery)
	cost = k.writes.Cost()
	top := k.writes.Top(hottest)
	k.rates = make(map[string]float64, len(top))
	var unknown []string
	look := func(name, key string) {
		if l.trackers[name] == nil && key != "" && now.Sub(k.asked[name]) > askAgain {
			k.asked[name] = now
			unknown = append(unknown, key)
		}
	}
	for _, t := range top {
		if sure := t.Rate - t.Err; sure > 0 {
			k.rates[t.Name] = sure
			look(t.Name, t.Key)
		}
	}
	for name, asked := range k.asked {
		if now.Sub(asked) > askAgain {
			delete(k.asked, name)
		}
	}
	if report, ok := k.retained.reports.TryTake(); ok {
		k.report = report
	}
	for _, h := range k.report.keys {
		name := decode.NameOf(h.Key, at)
		if covers(l.o.Watch, h.Key, name) && l.o.Slots.Has(name) && isHot(&h) {
			k.rates[name] = max(k.rates[name], 1)
			look(name, h.Key)
		}
	}
	k.tell(top, at)
	l.scanner.Look(unknown...)
	return cost
}

// tell puts what is known of hot keys into the next batch.
func (k *ranker) tell(top []hotkeys.Written, now limiter.Instant) {
	all, missed, duty := k.writes.Sampling()
	n := &model.HotKeys{At: now}
	for _, t := range top {
		n.Keys = append(n.Keys, model.HotKey{Key: t.Name, Writes: model.Measure{Known: true, V: t.Rate}, WritesBy: t.Err})
	}
	switch err := k.writes.Lack(); {
	case connect.Code(err) == "NOPERM":
		n.Sources = []string{"writes may not be heard by this user: allow it with ACL SETUSER … +client|tracking +subscribe &" + hotkeys.Channel}
	case err != nil:
		n.Sources = []string{"writes cannot be heard: that takes Redis 6"}
	case duty > 0:
		n.Writes, n.Missed = model.Measure{Known: true, V: all}, model.Measure{Known: true, V: missed}
		n.Sources = []string{fmt.Sprintf("writes, heard %.2g %% of the time", 100*duty)}
	}
	k.report.addTo(n)
	k.news = n
}

// takeNews returns what is new since the call before.
func (k *ranker) takeNews() (news *model.HotKeys, leftOut []string) {
	news, leftOut = k.news, k.leftOut
	k.news, k.leftOut = nil, nil
	return news, leftOut
}

// close ends the connections.
func (k *ranker) close() error {
	if k.client == nil {
		return nil
	}
	return k.client.Close()
}
