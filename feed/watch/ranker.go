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

// ranker finds the hottest keys of a server that may have many more keys than are watched. It
// samples the writes, has the keys that are written most examined before SCAN reaches them,
// and names the cold trackers that make room for them.
type ranker struct {
	client   redis.UniversalClient // speaks RESP3; nil on the embedded server
	nodes    *connect.Nodes        // of client
	writes   *hotkeys.Writes
	retained *retained // nil on the embedded server

	next    time.Time
	asked   map[string]time.Time // when limiters were last examined because they are hot
	rates   map[string]float64   // the least possible writes a second of the hottest limiters
	report  retainedReport       // the latest
	coldest []*tracked           // trackers that may be evicted, the coldest last; nil until needed
	leftOut []string             // limiters evicted since the last batch
	news    *model.HotKeys       // the ranking for the next batch; nil when there is no new one
}

// The pace of the ranking.
const (
	rankEvery    = 500 * time.Millisecond
	hottest      = 64               // limiters that are ranked
	askAgain     = 10 * time.Second // before a hot key that was not adopted is examined again
	samplesShare = 0.25             // of the budget goes to sampling writes
	coldEnough   = 1                // readings in a row without news
)

// newRanker prepares to sample writes over a client of its own, which must speak RESP3. With a
// nil client nothing is ranked.
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

// covers reports whether one of the patterns matches a key or the name of its limiter. No
// patterns match everything.
func covers(patterns []string, key, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return config.MatchGlob(p, key) || config.MatchGlob(p, name) })
}

// prefixes returns the fixed beginnings of the keys that the patterns match, each also with a
// { before it, as the counters of ratescope's own library have; nil stands for every key. No
// prefix begins with another one, which CLIENT TRACKING would refuse.
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
	// In sorted order a prefix comes before the longer ones that it covers.
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
		all, _ := k.nodes.All(ctx) // the reader reports a cluster that is away
		return all
	}, nil)
}

// rank ranks the hottest limiters every rankEvery, and has those examined that are not watched
// yet. at is now by the server's clock; cost is the server time that sampling has taken.
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

// tell puts the ranking into the next batch.
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

// takeNews returns the latest ranking, nil if it was returned before, and the limiters evicted
// since the previous call.
func (k *ranker) takeNews() (news *model.HotKeys, leftOut []string) {
	news, leftOut = k.news, k.leftOut
	k.news, k.leftOut = nil, nil
	return news, leftOut
}

// close closes the connections.
func (k *ranker) close() error {
	if k.client == nil {
		return nil
	}
	return k.client.Close()
}
