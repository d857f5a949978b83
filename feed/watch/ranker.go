package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// ranker finds the hottest keys of a server that may have many more keys than are watched. It samples the writes, has the keys that are
// written most examined before SCAN reaches them, and names the cold trackers that make room for them.
type ranker struct {
	client   redis.UniversalClient // speaks RESP3; nil on the embedded server
	nodes    *connect.Nodes        // of client
	writes   *hotkeys.Writes
	retained *retained // nil on the embedded server

	next    time.Time
	asked   map[string]time.Time // when limiters were last examined because they are hot
	rates   map[string]float64   // the least possible writes a second of the hottest limiters
	coldest []*tracked           // trackers that may be evicted, the coldest last; nil until needed
	leftOut []string             // limiters evicted since the last batch
	news    *model.HotKeys       // the ranking for the next batch; nil when there is no new one
}

// The pace of the ranking.
const (
	rankEvery    = 500 * time.Millisecond
	hottest      = 64              // limiters that are ranked
	askAgain     = 3 * time.Second // before a hot key that was not adopted is examined again
	samplesShare = 0.25            // of the budget goes to sampling writes
	coldEnough   = 1               // readings in a row without news
)

// newRanker prepares to sample writes over a client of its own, which must speak RESP3. With a nil client nothing is ranked.
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

// covers reports whether one of the patterns matches a key or the name of its limiter. No patterns match everything.
func covers(patterns []string, key, name string) bool {
	fits := func(pattern string) bool { return config.MatchGlob(pattern, key) || config.MatchGlob(pattern, name) }
	return len(patterns) == 0 || slices.ContainsFunc(patterns, fits)
}

// prefixes returns the fixed beginnings of the keys that the patterns match, each also with a { before it, as the counters of
// ratescope's own library have; nil stands for every key. No prefix begins with another one, which CLIENT TRACKING would refuse.
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
	})
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
	report := cmp.Or(k.retained.report.Load(), &retainedReport{})
	for _, h := range report.keys {
		name := decode.NameOf(h.Key, at)
		worth := h.CPU.V >= hotShare || h.Net.V >= hotShare || h.Counter.V >= hotCounter
		if worth && covers(l.o.Watch, h.Key, name) && l.o.Slots.Has(name) {
			k.rates[name] = max(k.rates[name], 1)
			look(name, h.Key)
		}
	}
	k.tell(top, report, at, l)
	l.scanner.Look(unknown...)
	return cost
}

// tell puts the ranking into the next batch.
func (k *ranker) tell(top []hotkeys.Written, report *retainedReport, now limiter.Instant, l *limiters) {
	all, missed, duty := k.writes.Sampling()
	n := &model.HotKeys{At: now, Keys: collect.Map(top, func(t hotkeys.Written) model.HotKey {
		return model.HotKey{Key: t.Name, Writes: model.Measure{Known: true, V: t.Rate}, WritesBy: t.Err}
	})}
	switch err := k.writes.Lack(); {
	case connect.Code(err) == "NOPERM":
		n.Sources = []string{
			"writes may not be heard by this user: allow it with ACL SETUSER … +client|tracking +subscribe &" + hotkeys.Channel}
	case err != nil:
		n.Sources = []string{"writes cannot be heard: that takes Redis 6"}
	case duty > 0:
		n.Writes, n.Missed = model.Measure{Known: true, V: all}, model.Measure{Known: true, V: missed}
		n.Sources = []string{fmt.Sprintf("writes, heard %.3g %% of the time", 100*duty)}
	}
	report.addTo(n)
	asked, says := l.asked()
	(&retainedReport{asked, []string{says}}).addTo(n)
	k.news = n
}

// retained asks the server for its own statistics of hot keys: HOTKEYS and LFU counters. Its
// goroutine makes the reports; only page is called from another goroutine.
type retained struct {
	client redis.UniversalClient
	nodes  *connect.Nodes
	shared *shared

	indexes     map[string]*hotkeys.Index // by node
	frequencies hotkeys.Frequencies
	lfu         atomic.Bool                    // the server keeps LFU counters, and they may be read
	report      atomic.Pointer[retainedReport] // the latest; nil before the first
}

// retainedReport holds the statistics of hot keys at one moment.
type retainedReport struct {
	keys    []model.HotKey // one for each Redis key and source
	sources []string       // phrases for model.HotKeys.Sources
}

// The pace of asking, and the least statistics for which a key is looked at.
const (
	askEvery      = 2 * time.Second
	countersEvery = 3                    // counters are read for one page of SCAN in countersEvery, chosen at random
	hotShare      = 0.01                 // of the server's time or bytes
	hotCounter    = 500                  // accesses that an LFU counter stands for
	freqPrice     = 2 * time.Microsecond // server time of one OBJECT FREQ
)

// run asks every askEvery, while the server is live, until ctx ends.
func (k *retained) run(ctx context.Context) {
	for wait := time.Duration(0); goroutine.Sleep(ctx, wait) == nil; {
		if wait = askEvery; !k.shared.live.Load() {
			wait = 100 * time.Millisecond
			continue
		}
		k.report.Store(k.ask(ctx, time.Now()))
	}
}

// ask asks the server, or every node of a cluster that is watched. The keys of a node that does not answer are missing from the report.
func (k *retained) ask(ctx context.Context, now time.Time) *retainedReport {
	ctx, cancel := context.WithTimeout(ctx, connect.Timeout)
	defer cancel()
	r := &retainedReport{}
	// Without an LFU policy no counters are read: each attempt would count as an error in the server's statistics.
	policy, _ := k.shared.policy.Load().(string)
	lfu, refused := strings.Contains(policy, "lfu"), k.frequencies.Lack()
	k.lfu.Store(lfu && refused == "")
	if lfu && refused != "" {
		r.sources = append(r.sources, refused)
	}
	nodes, _ := k.nodes.All(ctx) // the reader reports a cluster that is away
	for _, node := range nodes {
		keys, says, _ := collect.Entry(&k.indexes, node.Options().Addr).Read(ctx, node, now) // likewise
		if r.keys = append(r.keys, keys...); says != "" {
			r.sources = append(r.sources, says)
		}
	}
	if k.lfu.Load() {
		k.count(ctx, now, r)
	}
	return r
}

// count reads the LFU counters of the hottest known keys again, and adds them to a report.
func (k *retained) count(ctx context.Context, now time.Time, r *retainedReport) {
	keys := collect.Map(k.frequencies.HotKeys(now), func(h model.HotKey) string { return h.Key })
	if len(keys) > 0 {
		_, _ = k.frequencies.Ask(ctx, k.client, keys, now) // on an error the older counters remain
	}
	counted := k.frequencies.HotKeys(now)
	if len(counted) == 0 {
		return
	}
	r.keys = append(r.keys, counted...)
	source := "LFU counters, of the keys that SCAN has come by"
	if version, _ := k.shared.version.Load().(string); !connect.HasNoTouch(version) {
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
		sum.Asked = cmp.Or(sum.Asked, h.Asked)
		sum.CPU, sum.Net = sum.CPU.And(h.CPU), sum.Net.And(h.Net)
		if h.Counter.Known {
			sum.Counter = model.Measure{Known: true, V: max(sum.Counter.V, h.Counter.V)}
		}
	}
	slices.SortStableFunc(n.Keys, func(a, b model.HotKey) int { return cmp.Compare(b.Writes.V, a.Writes.V) })
	n.Sources = append(n.Sources, collect.Only(r.sources, func(s string) bool { return s != "" })...)
}

// asked finds out whether a limiter is asked again and again while it is at its limit. A script that denies without writing leaves one
// trace in Redis: reading a key sets its access time, whose clock has whole seconds, and OBJECT IDLETIME tells that time without setting
// it. Readings set it too (before CLIENT NO-TOUCH of Redis 7.2), so that a limiter at its limit rests while no write of it is announced:
// at the end of a rest, an access within the last second was another client's. That bounds the requests from below by one for each look.
// There is no closer bound, since an access time does not count. It is not known where admitted requests come within each rest, where
// writes are not announced (a cluster, more writes than announcements may cost), at a replica, under an LFU policy, while a snapshot is
// written (Redis then sets no access times), of counters that share their value's object with other keys (below 10,000, unless memory is
// limited), and beside another ratescope, which the subscribers of its channel show.
type asked struct {
	full  bool               // at its limit as of the latest reading, and its library does not record denials
	read  time.Time          // when the latest answer about the limiter came, as late as it may have been read
	idle  *redis.DurationCmd // of the present pipeline; nil for none
	refs  *redis.IntCmd      // likewise
	looks uint8              // the latest looks, a bit each: another client read it
}

const (
	restFull    = 2 * time.Second // between readings of a limiter at its limit: an access time is up to 1.1 s too early
	looksKept   = 4               // latest looks that count
	looksAsked  = 3               // of these say that it is asked again and again
	looksAtOnce = 64              // in one pipeline
	mostAsked   = 8               // limiters that are told
)

// lookAt adds the question whether others read a limiter to a pipeline, where the answer will tell.
func (r *reader) lookAt(t *tracked, f *flight) {
	a, l, q := &t.asked, r.link, f.query
	a.idle, a.refs = nil, nil
	policy, _ := l.shared.policy.Load().(string)
	rests := a.full && f.sent.Sub(a.read) >= restFull && r.limiters.still(t)
	if !rests || f.looks == looksAtOnce || l.server.Role != "master" || r.limiters.noLooks != "" || strings.Contains(policy, "lfu") {
		return
	}
	if f.looks++; f.looks == 1 {
		f.listeners = q.Pipe.PubSubNumSub(q.Ctx, hotkeys.Channel)
	}
	a.idle, a.refs = q.Pipe.ObjectIdleTime(q.Ctx, t.tracker.Name), q.Pipe.ObjectRefCount(q.Ctx, t.tracker.Name)
}

// learnAccess takes the answer of lookAt, together with the reading that was made after it.
func (r *reader) learnAccess(t *tracked, reading *model.Reading, f *flight) {
	a := &t.asked
	a.full = t.tracker.Near && reading.Err == "" && reading.Type != "stream" && !reading.Denied.Known
	if a.full {
		g := reading.Gauge(reading.At)
		a.full = g.Throttled()
	}
	var err error
	if a.idle != nil {
		err = cmp.Or(f.listeners.Err(), a.idle.Err(), a.refs.Err())
	}
	switch {
	case !a.full:
		a.looks = 0
	case a.idle == nil || len(reading.Arrivals) > 0 || errors.Is(err, redis.Nil): // a write may have set the access time
	case err != nil:
		r.limiters.noLooks = "access times of keys at their limits may not be asked by this user: " + connect.Remedy(err)
	case f.listeners.Val()[hotkeys.Channel] > 1: // another ratescope, which reads the keys as well
		a.looks = 0
	case a.refs.Val() == 1:
		a.looks = a.looks << 1 & (1<<looksKept - 1)
		if a.idle.Val() == 0 {
			a.looks++
		}
	}
}

// asked returns the limiters that are asked again and again, at most mostAsked, and a phrase that says how they are known.
func (l *limiters) asked() (keys []model.HotKey, _ string) {
	full, says := 0, l.noLooks
	for name, t := range l.trackers {
		if t.asked.full {
			full++
		}
		if n := bits.OnesCount8(t.asked.looks); n >= looksAsked {
			keys = append(keys, model.HotKey{Key: name, Asked: model.Measure{Known: true, V: float64(n) / looksKept}})
		}
	}
	if n := len(keys); n > 0 {
		says = fmt.Sprintf("access times, of %s at their limits: %d asked again and again", format.Plural(full, "key"), n)
	}
	slices.SortFunc(keys, func(x, y model.HotKey) int {
		return cmp.Or(cmp.Compare(y.Asked.V, x.Asked.V), strings.Compare(x.Key, y.Key))
	})
	return keys[:min(len(keys), mostAsked)], says
}
