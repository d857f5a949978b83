package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/hot"
	"ratescope/feed/rules"
	"ratescope/feed/shape"
	"ratescope/limiter"
	"ratescope/model"
)

// heat finds the hottest keys of a server that may have far more than are read: it listens
// to the writes, has the keys that are written most looked at although SCAN has not come
// by, and makes room for them among those that are read.
type heat struct {
	client redis.UniversalClient // speaks RESP3; nil on the embedded server
	nodes  *connect.Nodes        // of client
	writes *hot.Writes

	next    time.Time
	asked   map[string]time.Time // limiters that were looked at for their heat
	rates   map[string]float64   // what is sure of the writes a second of the hottest
	coldest []*turn              // looks that may go, the first to go last; nil when not worked out
	leftOut []string             // looks that went since the last batch
	news    *model.Hot
	kept    kept
}

// The pace of the ranking.
const (
	heatEvery  = 500 * time.Millisecond
	hottest    = 64               // keys that are looked at for their heat
	askAgain   = 10 * time.Second // a key that was looked at and not taken
	heatShare  = 0.25             // of the budget goes to listening
	coldEnough = 1                // readings in a row without news
)

// newHeat prepares to listen with a client of its own; without one, nothing is heard.
func newHeat(c redis.UniversalClient, nodes *connect.Nodes, o Options, now func() limiter.Instant) *heat {
	return &heat{
		client: c, nodes: nodes, asked: make(map[string]time.Time), kept: newKept(),
		writes: hot.NewWrites(hot.WritesOptions{
			Share: heatShare * cmp.Or(max(o.Budget, 0), DefaultBudget), Prefixes: prefixes(o.Watch), Now: now,
			Name: func(key string) (string, bool) { return nameOf(key, o.Watch, now()) },
		}),
	}
}

// nameOf returns the limiter that a key belongs to, when the patterns speak of it.
func nameOf(key string, patterns []string, now limiter.Instant) (string, bool) {
	name := shape.NameOf(key, now)
	return name, spokenOf(patterns, key, name)
}

// spokenOf says that the patterns speak of a key or of the limiter that it belongs to.
func spokenOf(patterns []string, key, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return rules.Match(p, key) || rules.Match(p, name) })
}

// prefixes returns what all keys that the patterns speak of begin with, the counters of this
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

// run listens until ctx ends.
func (h *heat) run(ctx context.Context, alive func() bool) {
	if h.client == nil {
		return
	}
	h.writes.Run(ctx, func(ctx context.Context) []*redis.Client {
		if !alive() {
			return nil
		}
		all, _ := h.nodes.All(ctx) // a cluster that is away is told of elsewhere
		return all
	}, nil)
}

// feel ranks the keys that are heard of, and has those looked at that are not read yet. An
// error is for a server that is away.
func (w *observer) feel(ctx context.Context, now time.Time) error {
	h := w.heat
	h.coldest = nil
	if h.client == nil || now.Before(h.next) {
		return nil
	}
	h.next = now.Add(heatEvery)
	w.charge(h.writes.Cost())
	top := h.writes.Top(hottest)
	h.rates = make(map[string]float64, len(top))
	var unknown []string
	for _, t := range top {
		sure := t.Rate - t.Err
		if sure <= 0 {
			continue
		}
		h.rates[t.Name] = sure
		if w.looks[t.Name] == nil && t.Key != "" && now.Sub(h.asked[t.Name]) > askAgain {
			h.asked[t.Name] = now
			unknown = append(unknown, t.Key)
		}
	}
	for name, at := range h.asked {
		if now.Sub(at) > askAgain {
			delete(h.asked, name)
		}
	}
	if err := w.consult(ctx, now); err != nil {
		return err
	}
	for _, heat := range h.kept.heats {
		name := shape.NameOf(heat.Key, w.clock.at(now))
		if !spokenOf(w.o.Watch, heat.Key, name) || !heated(&heat) {
			continue
		}
		h.rates[name] = max(h.rates[name], 1)
		if w.looks[name] == nil && now.Sub(h.asked[name]) > askAgain {
			h.asked[name] = now
			unknown = append(unknown, heat.Key)
		}
	}
	w.tellHeat(top)
	err := w.scout.Look(ctx, unknown...)
	if connect.Away(err) {
		return err
	}
	return nil
}

// tellHeat says in the next batch what is heard.
func (w *observer) tellHeat(top []hot.Written) {
	all, missed, duty := w.heat.writes.Heard()
	n := &model.Hot{At: w.clock.at(time.Now())}
	for _, t := range top {
		n.Heats = append(n.Heats, model.Heat{Key: t.Name, Writes: model.Measure{Known: true, V: t.Rate}, WritesBy: t.Err})
	}
	switch err := w.heat.writes.Lack(); {
	case connect.Code(err) == "NOPERM":
		n.Sources = []string{"writes may not be heard by this user: allow it with ACL SETUSER … +client|tracking +subscribe &" + hot.Channel}
	case err != nil:
		n.Sources = []string{"writes cannot be heard: that takes Redis 6"}
	case duty > 0:
		n.Heard, n.Missed = model.Measure{Known: true, V: all}, model.Measure{Known: true, V: missed}
		n.Sources = []string{fmt.Sprintf("writes, heard %.2g %% of the time", 100*duty)}
	}
	w.heat.kept.tell(n)
	w.heat.news = n
}

// tell returns what is new since the call before.
func (h *heat) tell() (news *model.Hot, leftOut []string) {
	news, leftOut = h.news, h.leftOut
	h.news, h.leftOut = nil, nil
	return news, leftOut
}

// close ends the connections.
func (h *heat) close() error {
	if h.client == nil {
		return nil
	}
	return h.client.Close()
}

// makeRoom lets the coldest look go for a find that is sure to be hotter, and says whether
// there is room now.
func (w *observer) makeRoom(f shape.Found) bool {
	if !w.hotter(f) {
		return false
	}
	h := w.heat
	if h.coldest == nil {
		h.coldest = w.cold()
	}
	n := len(h.coldest)
	if n == 0 {
		delete(h.asked, f.Name) // soon there will be room
		return false
	}
	l := h.coldest[n-1]
	h.coldest = h.coldest[:n-1]
	delete(w.looks, l.Name)
	w.drop(l.Name)
	h.leftOut = append(h.leftOut, l.Name)
	return true
}

// hotter says that a find is worth a place that a cold key holds: it is written all the time,
// or it is near its limit as far as one look can tell.
func (w *observer) hotter(f shape.Found) bool {
	if w.heat.rates[f.Name] > 0 {
		return true
	}
	r := rules.For(w.o.Rules, f.Name, f.Key)
	if r == nil || !r.LimitKnown || r.Limit.Count <= 0 || f.Used < 0 {
		return false
	}
	return float64(f.Used) >= model.NearLimit*float64(r.Limit.Count)
}

// cold returns the looks that may go: not on screen, not asked for, read and quiet for a
// while. The coldest come last.
func (w *observer) cold() []*turn {
	list := make([]*turn, 0, len(w.looks))
	for _, l := range w.looks {
		if l.place == 0 && !l.Named && !l.Pressing() && l.quiet >= coldEnough && w.heat.rates[l.Name] == 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.quiet, b.quiet), strings.Compare(b.Name, a.Name))
	})
	return list
}

// drop counts a limiter that is known and not read.
func (w *observer) drop(name string) {
	if len(w.dropped) < droppedMost {
		w.dropped[fnv(name)] = true
	}
}
