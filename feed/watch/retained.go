package watch

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
	"ratescope/feed/decode"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/backoff"
	"ratescope/model"
	"ratescope/model/handoff"
)

// retained asks the server for its own statistics of hot keys: HOTKEYS and LFU counters. Its
// goroutine hands over reports; only page is called from another goroutine.
type retained struct {
	client redis.UniversalClient
	nodes  *connect.Nodes
	facts  *facts

	indexes     map[string]*hotkeys.Index // by node
	frequencies *hotkeys.Frequencies
	lfu         atomic.Bool // the server keeps LFU counters, and they may be read
	reports     *handoff.Latest[retainedReport]
}

// retainedReport holds the statistics of hot keys at one moment.
type retainedReport struct {
	keys    []model.HotKey // one for each Redis key and source
	sources []string       // phrases for model.HotKeys.Sources
}

func newRetained(c redis.UniversalClient, nodes *connect.Nodes, f *facts) *retained {
	return &retained{
		client: c, nodes: nodes, facts: f, indexes: make(map[string]*hotkeys.Index), frequencies: hotkeys.NewFrequencies(),
		reports: handoff.New(func(held *retainedReport, newer retainedReport) { *held = newer }),
	}
}

// The pace of asking, and the least statistics for which a key is looked at.
const (
	askEvery      = 2 * time.Second
	countersEvery = 3                    // counters are read for one page of SCAN in countersEvery, chosen at random
	hotShare      = 0.01                 // of the server's time or bytes
	hotCounter    = 500                  // accesses that an LFU counter stands for
	freqPrice     = 2 * time.Microsecond // server time of one OBJECT FREQ
)

// isHot reports whether the server's statistics make a key worth a look.
func isHot(h *model.HotKey) bool {
	return h.CPU.V >= hotShare || h.Net.V >= hotShare || h.Counter.V >= hotCounter
}

// run asks every askEvery, while the server is live, until ctx ends.
func (k *retained) run(ctx context.Context) {
	for wait := time.Duration(0); backoff.Sleep(ctx, wait) == nil; {
		if wait = askEvery; !k.facts.live.Load() {
			wait = 100 * time.Millisecond
			continue
		}
		k.reports.Put(k.ask(ctx, time.Now()))
	}
}

// ask asks the server, or every node of a cluster that is watched. The keys of a node that
// does not answer are missing from the report.
func (k *retained) ask(ctx context.Context, now time.Time) (r retainedReport) {
	ctx, cancel := context.WithTimeout(ctx, connect.Timeout)
	defer cancel()
	version, policy := k.facts.eviction()
	k.learn(policy, &r)
	switch c := k.client.(type) {
	case *redis.Client:
		k.askNode(ctx, "", c, now, &r)
	case *redis.ClusterClient:
		nodes, _ := k.nodes.All(ctx) // the reader reports a cluster that is away
		for _, node := range nodes {
			k.askNode(ctx, node.Options().Addr, node, now, &r)
		}
	}
	k.count(ctx, version, now, &r)
	return r
}

// learn notes whether the server keeps LFU counters, which its eviction policy tells. Without
// an LFU policy none are read: each attempt would count as an error in the server's statistics.
func (k *retained) learn(policy string, r *retainedReport) {
	lfu, refused := strings.Contains(policy, "lfu"), k.frequencies.Lack()
	k.lfu.Store(lfu && refused == "")
	if lfu && refused != "" {
		r.sources = append(r.sources, refused)
	}
}

// askNode asks one node for its HOTKEYS.
func (k *retained) askNode(ctx context.Context, addr string, node *redis.Client, now time.Time, r *retainedReport) {
	g := k.indexes[addr]
	if g == nil {
		g = &hotkeys.Index{}
		k.indexes[addr] = g
	}
	keys, says, _ := g.Read(ctx, node, now) // the reader reports a node that is away
	if r.keys = append(r.keys, keys...); says != "" {
		r.sources = append(r.sources, says)
	}
}

// count reads the LFU counters of the hottest known keys again, and adds them to a report.
func (k *retained) count(ctx context.Context, version string, now time.Time, r *retainedReport) {
	if !k.lfu.Load() {
		return
	}
	var keys []string
	for _, h := range k.frequencies.HotKeys(now) {
		keys = append(keys, h.Key)
	}
	if len(keys) > 0 {
		_, _ = k.frequencies.Ask(ctx, k.client, keys, now) // on an error the older counters remain
	}
	counted := k.frequencies.HotKeys(now)
	if len(counted) == 0 {
		return
	}
	r.keys = append(r.keys, counted...)
	source := "LFU counters, of the keys that SCAN has come by"
	if !connect.HasNoTouch(version) {
		source += "; the watching counts too, on this version of the server"
	}
	r.sources = append(r.sources, source)
}

// page reads the LFU counters of one page of SCAN in countersEvery, and returns the server time
// that it took. It is called by the scanner's goroutine.
func (k *retained) page(ctx context.Context, node redis.Cmdable, keys []string) time.Duration {
	if !k.lfu.Load() || len(keys) == 0 || rand.IntN(countersEvery) != 0 {
		return 0
	}
	if kept, err := k.frequencies.Ask(ctx, node, keys, time.Now()); err == nil && !kept {
		k.lfu.Store(false)
	}
	return time.Duration(len(keys)) * freqPrice
}

// addTo adds the report to the ranking by sampled writes. A limiter with several keys gets the
// sum of their shares, and the highest of their counters.
func (r *retainedReport) addTo(n *model.HotKeys) {
	at := make(map[string]int, len(n.Keys))
	for i, h := range n.Keys {
		at[h.Key] = i
	}
	for _, h := range r.keys {
		name := decode.NameOf(h.Key, n.At)
		i, seen := at[name]
		if !seen {
			i = len(n.Keys)
			at[name] = i
			n.Keys = append(n.Keys, model.HotKey{Key: name})
		}
		sum := &n.Keys[i]
		add(&sum.CPU, h.CPU)
		add(&sum.Net, h.Net)
		if h.Counter.Known {
			sum.Counter = model.Measure{Known: true, V: max(sum.Counter.V, h.Counter.V)}
		}
	}
	slices.SortStableFunc(n.Keys, func(a, b model.HotKey) int { return cmp.Compare(b.Writes.V, a.Writes.V) })
	n.Sources = append(n.Sources, r.sources...)
}

// add adds m to sum, if m is known.
func add(sum *model.Measure, m model.Measure) {
	if m.Known {
		sum.Known, sum.V = true, sum.V+m.V
	}
}
