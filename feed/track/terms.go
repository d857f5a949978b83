package track

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"ratescope/feed/config"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Figure is an inferred number with the strength of its evidence. The zero value is unknown.
type Figure[T any] struct {
	Value T
	Known bool // there is evidence for Value
	Sure  bool // there is enough evidence to show Value, marked as inferred
}

// Verdict says whether keys behave like limiters.
type Verdict uint8

const (
	Untold   Verdict = iota // not known yet
	Limiters                // they count
	NoLimits                // none of them counted for two windows, or they count down
)

// Terms holds the inferred terms of the limiters of one pattern.
type Terms struct {
	Window   Figure[time.Duration]
	Limit    Figure[int64]         // requests in a window
	Interval Figure[time.Duration] // a GCRA's emission interval
	Burst    Figure[int64]         // of a GCRA
	Left     bool                  // the counts are what is left, of a limit that they do not tell
	Verdict  Verdict
	Up, Down bool     // counts rise, or fall, within their windows
	Settle   []string // how to settle the figures that are not sure, in clauses
}

// Engine infers the terms of limiters whose keys do not contain them, from readings grouped by the pattern of their
// names: the window from expiries and their resets, the limit from the counts at which windows stop, the
// emission interval of a TAT from its steps. Its only clock is the instants of the readings.
//
// A figure is sure only if several keys agree and no reading contradicts it. Everything else is unknown, and
// Terms.Settle says what would settle it. No figure is better than a wrong one. The zero value has seen no
// reading. It is used by one goroutine.
type Engine struct {
	groups map[string]*group
	seed   maphash.Seed
	shown  map[Sign]limiter.Instant // when a key of a pattern showed it last
	units  map[string]*config.Units // of the counts of a pattern's keys
	fresh  bool
}

// count notes what a limiter of a pattern counts by the numbers in its keys, and what came since its previous reading.
func (e *Engine) count(pattern string, counts []int64, came []model.Arrival) {
	if e == nil || pattern == "" || len(counts) == 0 || len(e.units) >= mostGroups && e.units[pattern] == nil {
		return
	}
	u := collect.Entry(&e.units, pattern)
	was := *u
	for _, n := range slices.Concat(counts, collect.Map(came, func(a model.Arrival) int64 { return a.N })) {
		u.Count(n)
	}
	e.fresh = e.fresh || u.Step > 1 || u.Step != was.Step || u.Least != was.Least || u.Most != was.Most
}

// unit says why it is not known how much a request adds to the counts of a pattern, which the limit is of; "" where nothing says so.
func (e *Engine) unit(pattern string, limit int64) model.Note {
	if e == nil || e.units[pattern] == nil || limit <= 0 {
		return ""
	}
	const likely, over, far = 20, 8, 20
	switch u := e.units[pattern]; {
	case u.Step > 1 && (u.Chance() >= likely || u.Most > limit && u.Chance() >= over):
		return model.Note(fmt.Sprintf(model.UnitUnknown, u.Step))
	case u.Least > limit && u.Most/far > limit:
		return model.UnitAbove
	}
	return ""
}

// Sign is what a key shows of all keys of its pattern: that their times are the ends of leases, their counts what is left, that
// they expire, or that short numbers in their names are ids and no windows that come round, as the minute of the hour does. Where
// it is none of these it is that their names hold windows.
type Sign struct {
	Pattern                           string
	Leases, Left, Expires, IDs, Parts bool
}

// lasting is how long a sign holds, since the clock of one client may have given it.
const lasting = time.Minute

// Show notes that a key shows a sign at an instant.
func (e *Engine) Show(s Sign, at limiter.Instant) {
	if e == nil || s.Pattern == "" || len(e.shown) >= mostGroups {
		return
	}
	e.fresh = e.fresh || at.Sub(e.shown[s]) > lasting
	collect.Put(&e.shown, s, at)
}

// Shown reports whether a key has shown a sign not long before an instant.
func (e *Engine) Shown(s Sign, at limiter.Instant) bool {
	return e != nil && e.shown[s] != 0 && (s.IDs || at.Sub(e.shown[s]) <= lasting)
}

// Fresh reports whether a sign was shown that did not hold when Fresh was called last.
func (e *Engine) Fresh() bool {
	was := e.fresh
	e.fresh = false
	return was
}

// Bounds of the memory, since with hostile names every key could have its own pattern.
const (
	mostGroups = 1024
	mostKeys   = 256 // keys of one pattern; further keys are ignored
)

// group holds the limiters of one pattern.
type group struct {
	algorithm limiter.Algorithm
	keys      map[uint64]*key // by the hash of their names
	first     limiter.Instant // the first reading
	last      limiter.Instant // the latest reading
	windows   windows
	counts    counts
	steps     steps
}

// key holds the previous reading of one limiter.
type key struct {
	at      limiter.Instant // of the reading
	present bool            // the key existed
	count   int64
	expiry  limiter.Instant // 0 for none
	mark    limiter.Instant // the TAT, or a log's oldest entry

	born    limiter.Instant // the latest possible start of its window; 0 if the start was not seen
	reached limiter.Instant // when count was first read, or a log's newest entry
	rises   int             // readings of the window in which the count had risen
	ceiling int64           // backlog of a TAT, in units
	stood   int             // changes of the TAT in a row with this backlog
}

// Span is what a key says of time beside its reading: the window that its name says it counts in, or of a log, as Start, its
// oldest entry. An instant of 0 is not known.
type Span struct{ Start, End limiter.Instant }

// Learn takes a reading of a limiter whose terms are not known otherwise. The readings of one
// key must come in the order of their instants.
func (e *Engine) Learn(r *model.Reading, says Span) {
	if r.Pattern == "" || r.Err != "" || r.Partial || r.At <= 0 {
		return
	}
	if e.groups == nil {
		e.groups, e.seed = make(map[string]*group), maphash.MakeSeed()
	}
	g := e.groups[r.Pattern]
	if g == nil {
		if len(e.groups) >= mostGroups {
			return
		}
		g = &group{keys: make(map[uint64]*key), first: r.At}
		e.groups[r.Pattern] = g
	}
	g.learn(maphash.String(e.seed, r.Key), r, says)
}

// learn takes a reading of the key with the hash id.
func (g *group) learn(id uint64, r *model.Reading, says Span) {
	if g.algorithm != r.Target.Algorithm {
		*g = group{algorithm: r.Target.Algorithm, keys: make(map[uint64]*key), first: r.At}
	}
	was, seen := g.keys[id]
	if !seen && len(g.keys) >= mostKeys {
		return
	}
	now := key{at: r.At, present: r.Type != "none", count: r.State.Current, mark: r.State.TAT}
	if r.TTL > 0 && now.present {
		now.expiry = r.At.Add(r.TTL)
	}
	if was == nil {
		was = &key{}
		g.keys[id] = was
	}
	g.last = max(g.last, r.At)
	switch g.algorithm {
	case limiter.FixedWindow:
		if g.learnCount(id, was, &now, says); says.Start != 0 && !now.present {
			delete(g.keys, id) // the next window is another key
			return
		}
	case limiter.SlidingLog:
		if n := len(r.State.Log); n > 0 {
			now.mark, now.reached = says.Start, r.State.Log[n-1].At
		}
		g.windows.learnLog(was, &now)
		g.learnRoll(id, was, &now, r.State.Log)
	case limiter.GCRA:
		g.steps.learnTAT(was, &now)
	}
	*was = now
}

// Terms returns the inferred terms of the limiters of a pattern.
func (e *Engine) Terms(pattern string) Terms {
	if e == nil || e.groups[pattern] == nil {
		return Terms{}
	}
	g := e.groups[pattern]
	var t Terms
	switch g.algorithm {
	case limiter.FixedWindow:
		t.Window = g.windows.figure()
		if t.Left = g.left(); !t.Left {
			t.Limit = g.counts.limit(t.Window)
		}
		t.Verdict = g.verdict(t.Window)
		c := &g.counts
		t.Up, t.Down = c.rises > c.falls, (c.falls > 0 || c.zeros > 0) && c.falls >= c.rises
	case limiter.SlidingLog:
		t.Window = g.windows.figure()
		t.Limit = g.counts.limit(t.Window)
	case limiter.GCRA:
		t.Interval, t.Burst = g.steps.interval(), g.steps.burst()
	}
	t.settle(g.algorithm)
	return t
}

// toSettle says how to settle the two figures of an algorithm's limiters.
var toSettle = map[limiter.Algorithm][]string{
	limiter.FixedWindow: {"the window: watch until two windows of one key have begun",
		"the limit: watch until three keys stop at one count at other times of their windows, or say it if denied requests count too"},
	limiter.SlidingLog: {"the window: watch until requests have removed old entries of several keys",
		"the limit: watch until three keys stay at the same count while their entries pass"},
	limiter.GCRA: {"the interval: watch until eight changes of one, two or more units were seen",
		"the burst: watch until three keys are denied for a while, or say limit and burst in its rule"},
	limiter.TokenBucket: ofBuckets, limiter.LeakyBucket: ofBuckets,
}

var ofBuckets = []string{"the rate and the capacity: a bucket holds what is left after a request, and never how much fits"}

// settle fills in Settle for the figures that are not sure.
func (t *Terms) settle(a limiter.Algorithm) {
	sure := [...]bool{t.Window.Sure || t.Interval.Sure, t.Limit.Sure || t.Burst.Sure}
	for i, what := range toSettle[a] {
		if !sure[i] {
			t.Settle = append(t.Settle, what)
		}
	}
}
