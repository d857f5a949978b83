package feed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// observer reads the limiters that are known. It is used by one goroutine, but for
// focus.
type observer struct {
	o        Options
	client   redis.UniversalClient
	guard    *guard
	scout    *scout
	listener *listener
	clock    clock
	nodes    nodes
	pasts    map[string]*past // what is known from before; the embedded source fills it

	looks   map[string]*look
	dropped map[uint64]bool // keys beyond MaxKeys

	mu    sync.Mutex
	focus []string

	role, version, runID string
	greeted              bool

	purse      purse
	begun      time.Time     // of the last round
	sinceRound time.Duration // from the round before to this one
	spent      time.Duration // of the server, since it was last told

	doctor   doctor
	health   *model.Health // of this round; nil when it was not looked at
	embedded bool
	shown    string
	sweep    model.Sweep // as it stood before the finds of this round were adopted
}

// Bounds of one pipeline and of one round.
const (
	rangesPerPipe   = 50
	commandsPerPipe = 400
	asksPerRound    = 24 // times that a look may ask for more in one round
)

func newObserver(o Options, client redis.UniversalClient, g *guard, pasts map[string]*past) *observer {
	w := &observer{o: o, client: client, guard: g, listener: newListener(client), pasts: pasts, purse: newPurse(o.Budget), embedded: pasts != nil, looks: make(map[string]*look), dropped: make(map[uint64]bool)}
	for _, k := range o.Keys {
		w.looks[k] = w.lookFor(k, k)
		w.looks[k].named = true
		w.looks[k].body = &probeBody{key: k}
		w.looks[k].settle(limiter.Unknown, limiter.Layout{}, 0)
	}
	return w
}

func (w *observer) lookFor(name, key string) *look {
	l := &look{name: name, typ: "none", rule: ruleFor(w.o.Rules, name, key)}
	l.denied = denials{key: limiter.DeniedKey(name), always: w.embedded}
	l.past = w.pasts[name]
	return l
}

// setFocus says which keys matter most. It may be called from any goroutine.
func (w *observer) setFocus(keys []string) {
	w.mu.Lock()
	w.focus = slices.Clone(keys)
	w.mu.Unlock()
}

// greet asks a server that has just answered who it is.
func (w *observer) greet(ctx context.Context) error {
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil && code(err) != "NOPERM" {
		return err
	}
	received := time.Now()
	if err == nil {
		w.clock.observe(sent, received, limiter.InstantOf(t), true)
	}
	info, err := w.client.Info(ctx, "server", "replication").Result()
	if err != nil {
		if away(err) {
			return err
		}
		info, err = w.client.Info(ctx).Result() // before Redis 7 INFO takes one section
		if err != nil && away(err) {
			return err
		}
	}
	fields := parseInfo(info)
	w.version = fields["redis_version"]
	if v := fields["valkey_version"]; v != "" {
		w.version = "valkey " + v
	}
	w.role = fields["role"]
	if w.role == "slave" {
		w.role = "replica"
	}
	w.runID = fields["run_id"]
	if _, ok := w.client.(*redis.ClusterClient); ok {
		w.role = "cluster"
	}
	w.greeted = true
	return nil
}

// parseInfo reads the lines name:value of INFO.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

// round reads what is due. The error is for a server that is away; what was read before
// it went comes with it.
//
// With only, no more than the looks at these keys are read: somebody has heard of news.
func (w *observer) round(ctx context.Context, only []string) (readings []model.Reading, gone []string, err error) {
	defer func() {
		if err != nil {
			w.greeted = false // it may be another one when it comes back
		}
		if err != nil {
			w.health = nil
		}
		slices.SortFunc(readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	}()
	if !w.greeted {
		if err := w.greet(ctx); err != nil {
			return nil, nil, err
		}
		for _, l := range w.looks {
			if b, ok := l.body.(interface{ resync() }); ok {
				b.resync()
			}
		}
	}
	if only != nil {
		return w.hear(ctx, only)
	}
	// What a pass has found is adopted in the round that tells of the pass.
	w.sweep = w.scout.progress()
	w.adopt()
	if len(w.looks) == 0 { // nothing to read: is the server still there?
		if err := w.tick(ctx); err != nil {
			return nil, nil, err
		}
	}
	begun := time.Now()
	w.sinceRound, w.begun = begun.Sub(w.begun), begun
	w.purse.fill(begun)
	scanned := w.scout.cost()
	w.purse.left -= scanned
	w.spent += scanned
	if err := w.readAll(ctx, w.plan(begun), &readings); err != nil {
		return readings, nil, err
	}
	if w.health, err = w.doctor.examine(ctx, w.client, w.clock.at(time.Now()), w.embedded); err != nil {
		return readings, nil, err
	}
	w.doctor.before.tellPrices(&w.purse)
	w.listen()
	return readings, w.bury(), nil
}

// hear reads the looks at some keys at once.
func (w *observer) hear(ctx context.Context, keys []string) (readings []model.Reading, gone []string, err error) {
	w.health = nil
	var due []*look
	for _, k := range keys {
		if l := w.looks[k]; l != nil && l.rank == onScreen {
			due = append(due, l)
		}
	}
	err = w.readAll(ctx, due, &readings)
	return readings, nil, err
}

// tick asks for the time alone.
func (w *observer) tick(ctx context.Context) error {
	sent := time.Now()
	t, err := w.client.Time(ctx).Result()
	if err != nil {
		if away(err) {
			return err
		}
		return nil
	}
	w.clock.observe(sent, time.Now(), limiter.InstantOf(t), true)
	return nil
}

// The ranks of looks: who is read first.
const (
	onScreen = iota // on screen, or asked for by name
	pressing        // near its limit, or busy
	ordinary
)

// plan returns the looks to read now, the most important first.
func (w *observer) plan(now time.Time) []*look {
	w.mu.Lock()
	place := make(map[string]int, len(w.focus))
	for i, k := range w.focus {
		place[k] = i + 1
	}
	w.mu.Unlock()
	due := make([]*look, 0, len(w.looks))
	w.purse.full = len(w.looks) > 0 && w.scout.progress().Passes > 0
	for _, l := range w.looks {
		l.place = place[l.name]
		w.purse.full = w.purse.full && l.looks > 0
		switch {
		case l.place > 0 || l.named && len(w.looks) <= fewLooks:
			l.rank = onScreen
		case l.heat > 0 || l.near:
			l.rank = pressing
		default:
			l.rank = ordinary
		}
		if l.rank == onScreen || !now.Before(l.due) {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *look) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.name, b.name))
	})
	return due
}

// How often keys are read. A busy key is read at every refresh; a quiet one less and less
// often, and as a whole only every fourth time: in between it is asked for news alone.
const (
	fewLooks    = 200 // so few are all read at every refresh
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause is how long a look may wait for its next turn.
func (w *observer) pause(l *look) time.Duration {
	switch {
	case len(w.looks) <= fewLooks || l.heat > 0 || l.near:
		l.quiet = 0
		return 0
	case l.looks <= 1:
		return quietPause
	}
	l.quiet = min(l.quiet+1, 6)
	return min(quietPause*time.Duration(l.quiet), longestWait)
}

// adopt makes looks of what discovery found.
func (w *observer) adopt() {
	for _, f := range w.scout.collect() {
		w.meet(f)
	}
}

func (w *observer) meet(f found) {
	l := w.looks[f.name]
	if f.denied {
		if l != nil {
			l.denied.skip = 0
		}
		return
	}
	if l != nil {
		if b, ok := l.body.(*counterBody); ok && f.kind == kindCounter && (b.own == f.own) {
			b.meet(f.start)
			return
		}
		if l.silent == 0 && l.kind != kindNone && l.kind != f.kind || l.kind == f.kind {
			return // the name is taken by something that lives
		}
		w.replace(l, f)
		return
	}
	if !w.interesting(f) {
		return
	}
	if w.stale(f) {
		return
	}
	if len(w.looks) >= w.max() {
		if len(w.dropped) < seenMost {
			w.dropped[fnv(f.name)] = true
		}
		return
	}
	l = w.lookFor(f.name, f.key)
	w.looks[f.name] = l
	w.dress(l, f)
}

// expect makes a look at a key that will hold what the persona keeps, even while it
// holds nothing.
func (w *observer) expect(p persona) {
	f := found{key: p.key, typ: "none", name: p.key, sure: true}
	switch p.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		f.kind, f.own, f.unit = kindCounter, p.algorithm, time.Millisecond
	case limiter.SlidingLog:
		f.kind = kindLog
	case limiter.StreamCounter:
		f.kind = kindStream
	case limiter.GCRA:
		f.kind = kindTAT
	case limiter.TokenBucket:
		f.kind, f.field = kindBucket, "tokens"
	case limiter.LeakyBucket:
		f.kind, f.field = kindBucket, "level"
	}
	l := w.lookFor(p.key, p.key)
	l.named, l.certain = true, true
	w.looks[p.key] = l
	w.dress(l, f)
}

// stale says that a find is a counter of a window long over.
func (w *observer) stale(f found) bool {
	if f.kind != kindCounter {
		return false
	}
	r := ruleFor(w.o.Rules, f.name, f.key)
	if r == nil || r.window() == 0 {
		return false
	}
	now := w.clock.at(time.Now())
	return f.start.Add(3*r.window()) < now
}

func (w *observer) max() int {
	if w.o.MaxKeys > 0 {
		return w.o.MaxKeys
	}
	return DefaultMaxKeys
}

// interesting says that a find is worth watching: it looks like a limiter, or somebody
// spoke of it: with a rule that is not for all keys, or with a pattern narrower than *.
func (w *observer) interesting(f found) bool {
	if f.sure || f.kind == kindStream {
		return true
	}
	r := ruleFor(w.o.Rules, f.name, f.key)
	if r != nil && strings.Trim(r.Match, "*") != "" {
		return true
	}
	narrow := slices.ContainsFunc(w.o.Watch, func(p string) bool {
		return strings.Trim(p, "*") != "" && matchGlob(p, f.key)
	})
	// A set without a single time is hardly a log, and a string hardly a counter, unless
	// a rule says what it should be.
	if f.kind == kindLog {
		return narrow || !r.silent()
	}
	return narrow && r != nil && r.Algorithm != limiter.Unknown
}

// dress gives a look the body that reads what was found.
func (w *observer) dress(l *look, f found) {
	l.kind, l.typ, l.wrong = f.kind, f.typ, ""
	a := limiter.Unknown
	layout := limiter.Layout{}
	switch f.kind {
	case kindLog:
		a = limiter.SlidingLog
	case kindStream:
		a = limiter.StreamCounter
	case kindCounter:
		a = f.own
		if a == limiter.Unknown {
			a, layout = limiter.FixedWindow, limiter.Layout{Unit: f.unit, Suffixed: true}
		}
	case kindSingle:
		a = limiter.FixedWindow
	case kindTAT:
		a = limiter.GCRA
	case kindBucket:
		a = limiter.TokenBucket
		if f.field == "level" {
			a = limiter.LeakyBucket
		}
	}
	l.settle(a, layout, 0)
	if f.kind == kindCounter && f.own != limiter.Unknown {
		l.target.Inferred = false
	}
	rule := limiter.Unknown
	if l.rule != nil {
		rule = l.rule.Algorithm
	}
	l.note(model.WrongType, false)
	if f.kind == kindWrong || !suits(f.kind, rule) {
		l.misfit(f.key, f.typ, rule)
		return
	}
	l.body = newBody(f)
	if l.past != nil {
		l.past.lay(l)
	}
}

// misfit makes the look say that the key holds another type than wanted.
func (l *look) misfit(key, typ string, rule limiter.Algorithm) {
	l.kind = kindWrong
	l.note(model.WrongType, true)
	l.body = &wrongBody{key: key, rule: rule}
	if rule == limiter.Unknown {
		l.wrong = fmt.Sprintf("holds %s, which is not how a known rate limiter keeps its state", article(typ))
		return
	}
	l.wrong = fmt.Sprintf("holds %s, the rule says %s (%s)", article(typ), rule, wants(rule))
}

// replace gives a look another body because its key holds something else now.
func (w *observer) replace(l *look, f found) *look {
	fresh := w.lookFor(l.name, f.key)
	fresh.named, fresh.past = l.named, l.past
	fresh.since = l.since
	fresh.denied = l.denied
	w.looks[l.name] = fresh
	w.dress(fresh, f)
	if l.kind == kindNone && l.since != 0 { // it was not there then, so all that is there is new
		switch b := fresh.body.(type) {
		case *counterBody:
			b.values = make(map[limiter.Instant]int64)
			b.watched = l.since
		case *singleBody:
			b.known = true
		case *valueBody:
			b.known = true
			b.last.Algorithm = fresh.target.Algorithm
		}
	}
	return fresh
}

// bury forgets the looks whose keys are gone, and returns their names.
func (w *observer) bury() []string {
	var gone []string
	now := w.clock.at(time.Now())
	for name, l := range w.looks {
		switch {
		case l.gone(now):
			gone = append(gone, name)
			delete(w.looks, name)
			w.scout.forget(name)
		case l.changed && !l.named:
			delete(w.looks, name)
			w.scout.forget(name)
		case l.changed || l.named && !l.certain && l.kind != kindNone && l.silent != 0 && now.Sub(l.silent) > 2*max(l.target.Window, time.Second):
			// Somebody asked for it by name: wait for whatever comes under it.
			l.kind, l.wrong, l.changed = kindNone, "", false
			l.note(model.WrongType, false)
			l.body = &probeBody{key: name}
			l.settle(limiter.Unknown, limiter.Layout{}, l.target.Window)
		}
	}
	slices.Sort(gone)
	return gone
}

// fnv is FNV-1a.
func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
