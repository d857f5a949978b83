package observe

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/hot"
	"ratescope/feed/shape"
	"ratescope/model"
)

// kept is what the server itself keeps of how hot keys are: HOTKEYS and LFU counters.
type kept struct {
	next      time.Time
	registers map[string]*hot.Register // by node
	heats     []model.Heat             // by Redis key
	says      []string

	frequencies *hot.Frequencies
	lfu         atomic.Int32 // whether the server keeps counters: maybe, yes, no
	factor      float64      // its lfu-log-factor
	unnoticed   bool         // reading does not count as use
}

func newKept() kept {
	return kept{registers: make(map[string]*hot.Register), frequencies: hot.NewFrequencies(), factor: hot.LogFactorStd}
}

// The pace of asking, and what makes a key worth a look.
const (
	consultEvery = 2 * time.Second
	pagesAPage   = 3    // of so many pages of SCAN the counters of one are asked for, by chance
	hotShare     = 0.01 // of the server's time or bytes
	hotAccesses  = 20   // a second
	hotCounter   = 500  // accesses
	freqPrice    = 2 * time.Microsecond
)

// What lfu holds.
const (
	lfuMaybe = iota
	lfuYes
	lfuNo
)

// heated says that what the server keeps of a key makes it worth a look.
func heated(h *model.Heat) bool {
	return h.CPU.V >= hotShare || h.Net.V >= hotShare || h.Accesses.V >= hotAccesses || h.Counter.V >= hotCounter
}

// consult asks the server, or every master of a cluster. An error is for a server that is
// away; a node that does not answer leaves its keys out.
func (w *observer) consult(ctx context.Context, now time.Time) error {
	k := &w.heat.kept
	if w.embedded || now.Before(k.next) {
		return nil
	}
	k.next = now.Add(consultEvery)
	k.heats, k.says = nil, nil
	ctx, cancel := context.WithTimeout(ctx, connect.Timeout)
	defer cancel()
	k.learn(w.policy, w.version)
	switch c := w.client.(type) {
	case *redis.Client:
		if err := k.report(ctx, "", c, c.Options().DB, now); err != nil {
			return err
		}
	case *redis.ClusterClient:
		nodes, _ := w.reads.All(ctx) // a cluster that is away is told of elsewhere
		for _, node := range nodes {
			_ = k.report(ctx, node.Options().Addr, node, 0, now)
		}
	}
	return k.count(ctx, w.client, now)
}

// learn takes note of what the server says of itself.
func (k *kept) learn(policy, version string) {
	if policy != "" {
		lfu, refused := strings.Contains(policy, "lfu"), k.frequencies.Lack()
		k.keeps(lfu && refused == "")
		if lfu && refused != "" {
			k.says = append(k.says, refused)
		}
	}
	k.unnoticed = connect.Unnoticed(version)
}

// keeps notes whether the server keeps LFU counters.
func (k *kept) keeps(yes bool) {
	if yes {
		k.lfu.Store(lfuYes)
	} else {
		k.lfu.Store(lfuNo)
	}
}

// report asks one node for its HOTKEYS.
func (k *kept) report(ctx context.Context, addr string, node redis.Cmdable, db int, now time.Time) error {
	g := k.registers[addr]
	if g == nil {
		g = &hot.Register{}
		k.registers[addr] = g
	}
	r, ok, err := g.Look(ctx, node, db, now)
	if err != nil {
		return err
	}
	if ok {
		k.heats = append(k.heats, r.Heats...)
		k.says = append(k.says, r.Says())
	} else if why := g.Lack(); why != "" {
		k.says = append(k.says, why)
	}
	return nil
}

// count asks again for the counters of the keys that had the highest.
func (k *kept) count(ctx context.Context, c redis.UniversalClient, now time.Time) error {
	if k.lfu.Load() != lfuYes {
		return nil
	}
	var keys []string
	for _, h := range k.frequencies.Heats(k.factor, now) {
		keys = append(keys, h.Key)
	}
	if len(keys) > 0 {
		if _, err := k.frequencies.Ask(ctx, c, keys, now); connect.Away(err) {
			return err
		}
	}
	heats := k.frequencies.Heats(k.factor, now)
	if len(heats) == 0 {
		return nil
	}
	k.heats = append(k.heats, heats...)
	says := "LFU counters, of the keys that SCAN has come by"
	if !k.unnoticed {
		says += "; the watching counts too, on this version of the server"
	}
	k.says = append(k.says, says)
	return nil
}

// page asks for the counters of some of the keys that SCAN finds, and returns what that
// costs the server. It is called by the scout's goroutine.
func (k *kept) page(ctx context.Context, node redis.Cmdable, keys []string) time.Duration {
	if k.lfu.Load() == lfuNo || len(keys) == 0 || rand.IntN(pagesAPage) != 0 {
		return 0
	}
	if k.lfu.Load() != lfuYes {
		keys = keys[:1] // a server that keeps none counts an error for every key
	}
	counters, err := k.frequencies.Ask(ctx, node, keys, time.Now())
	if err == nil {
		k.keeps(counters)
	}
	return time.Duration(len(keys)) * freqPrice
}

// tell adds what is kept to what is heard: the figures of a limiter's keys are summed, for
// each is a share of the same whole, and the highest of its counters counts.
func (k *kept) tell(n *model.Hot) {
	at := make(map[string]int, len(n.Heats))
	for i, h := range n.Heats {
		at[h.Key] = i
	}
	for _, h := range k.heats {
		name := shape.NameOf(h.Key, n.At)
		i, seen := at[name]
		if !seen {
			i = len(n.Heats)
			at[name] = i
			n.Heats = append(n.Heats, model.Heat{Key: name})
		}
		sum := &n.Heats[i]
		add(&sum.CPU, h.CPU)
		add(&sum.Net, h.Net)
		add(&sum.Accesses, h.Accesses)
		if h.Counter.Known {
			sum.Counter = model.Measure{Known: true, V: max(sum.Counter.V, h.Counter.V)}
		}
	}
	slices.SortStableFunc(n.Heats, func(a, b model.Heat) int { return cmp.Compare(b.Writes.V, a.Writes.V) })
	n.Sources = append(n.Sources, k.says...)
}

func add(sum *model.Measure, m model.Measure) {
	if m.Known {
		sum.Known, sum.V = true, sum.V+m.V
	}
}
