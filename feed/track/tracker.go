// Package track follows limiters from reading to reading. A Tracker follows one limiter; its
// decoder knows one form of state: a sorted set of instants, a stream of counts, a counter for
// each window, or a single value. For each reading, Ask adds commands to a pipeline and Take
// turns the answers into a model.Reading. The commands fetch the entries that are new since
// the previous reading, and count the known ones to notice entries that were removed or came
// late. Where too many entries come to fetch them, they are counted per bin of time, which
// costs the same however many there are. The entries of two windows are remembered, in bounded
// memory, even after the server has trimmed them.
//
// Nothing here is safe for concurrent use, and nothing sends commands by itself.
package track

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// Query collects the commands of one pipeline.
type Query struct {
	Ctx      context.Context
	Pipe     redis.Pipeliner
	Now      limiter.Instant // the server's clock as far as it is known before the answer
	Ranges   int             // commands so far that return ranges, which the caller limits
	Slots    bool            // a cluster: several keys in one command must share a slot
	Whole    bool            // read everything about the key; else only what is new
	Entries  int             // entries that a record may keep one by one
	OnScreen bool            // the key is on screen, and its members are surveyed more often
	Windows  *decode.Windows // windows inferred over all keys of a kind; nil infers none
	Rules    decode.Rules    // what rules say of keys before they are read; nil says nothing
	Inferred *Engine         // infers the limits of likely limiters; nil infers none
	Denials  *Access         // to the recorded denials; nil permits it
	Quick    bool            // between two refreshes: a reading without news is not reported
}

// decoder reads one form of state.
type decoder interface {
	// ask adds the commands of the next reading.
	ask(q *Query, l *Tracker)
	// take reads their answers into r; now is the server's clock. It returns true if ask has to
	// be called again at once, because there was more to fetch; r is then incomplete.
	take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error)
}

// Tracker follows one limiter from reading to reading.
type Tracker struct {
	Name    string // Reading.Key
	Named   bool   // the user named exactly this key
	certain bool   // the form of its state is known even while the key does not exist
	rule    *config.Rule
	kind    decode.Kind
	typ     string
	decoder decoder

	library  string // the library in whose layout the key is; "" if unknown
	evidence model.Evidence
	why      []string // the evidence, in clauses
	pattern  string   // a glob of the limiters of the same kind
	general  bool     // pattern is made of the names of many limiters
	found    string   // Redis type of the find, and form its kind
	form     decode.Kind

	windowKnown bool // the library's layout gives the window, so that it need not be guessed

	target model.Target
	notes  map[model.Note]bool
	denied denials
	block  block
	past   *Past
	skew   model.Note // how far entries are in the future; "" where none is

	ttl      time.Duration
	since    limiter.Instant // of the previous reading
	silent   limiter.Instant // since when the key does not exist; 0 while it does
	lives    limiter.Instant // until when it was to live, as of the latest reading of it; 0 not known
	deleted  bool            // it does not exist although it was to live on
	arrived  int64           // units that came with the latest reading
	near     bool            // near its limit, or over it
	Readings int             // readings so far
	rate     float64         // units a second, smoothed over about a second
	wrong    string          // why the key cannot be read, in one sentence
	spread   time.Duration   // within which the present reading was made
	odd      int             // consecutive quiet looks at which wrong was set
	unquiet  int             // consecutive other looks at which it was
	refused  bool            // this user may not read the key
	changed  bool            // the key holds another type than before, and must be recognized again

	inferred *Engine // of the latest query
	unlikely bool    // its values do not change like those of a limiter

	quick    bool    // the present reading is a quick one
	moved    bool    // entries were removed since the previous reading, which no arrival shows
	reported figures // of the previous reading
}

// settle sets the target from the rule and, where the rule gives nothing, from the arguments,
// which the key's data shows.
func (l *Tracker) settle(a limiter.Algorithm, layout layout.Layout, window time.Duration) {
	t := model.Target{Algorithm: a, Inferred: true, Layout: layout, Window: window}
	if r := l.rule; r != nil {
		t.Convention = r.Convention
		t.Limit, t.LimitKnown = r.Limit, r.LimitKnown
		if r.Algorithm != limiter.Unknown {
			t.Algorithm, t.Inferred = r.Algorithm, false
		}
		if w := r.Span(); w > 0 {
			t.Window = w
		}
	}
	t.Limit.Window = t.Window
	l.target = t
}

// fixedWindow returns the window that the rule gives; 0 if it gives none.
func (l *Tracker) fixedWindow() time.Duration {
	if l.rule == nil {
		return 0
	}
	return l.rule.Span()
}

// guess sets the window that the data suggests, unless the rule or the library's layout gives
// one.
func (l *Tracker) guess(w time.Duration) {
	if w <= 0 || l.windowKnown || l.fixedWindow() > 0 || l.target.Window == w {
		return
	}
	l.target.Window, l.target.Limit.Window = w, w
}

// note adds a note to all further readings, or removes it.
func (l *Tracker) note(n model.Note, on bool) {
	if on {
		if l.notes == nil {
			l.notes = make(map[model.Note]bool)
		}
		l.notes[n] = true
	} else {
		delete(l.notes, n)
	}
}

// Ask adds the commands of the next reading.
func (l *Tracker) Ask(q *Query) {
	l.quick, l.inferred = q.Quick, q.Inferred
	if l.decoder != nil {
		l.decoder.ask(q, l)
	}
	l.denied.ask(q, l)
	l.block.ask(q, l)
}

// Outcome is the result of Take.
type Outcome uint8

const (
	Ready   Outcome = iota // the reading is complete
	Again                  // there is more to fetch: call Ask again at once
	Nothing                // a quick reading brought no news and is dropped
)

// Take turns the answers into a reading, which is valid only if the outcome is Ready. now is the server's
// clock after the last command, and the first was carried out up to spread before it. It fails when the
// server is away or the key is on another node.
func (l *Tracker) Take(now limiter.Instant, spread time.Duration) (r model.Reading, o Outcome, err error) {
	again := false
	l.refused, l.spread = false, spread
	r = model.Reading{Key: l.Name, Type: l.typ, At: now, Since: l.since, TTL: l.ttl}
	if l.decoder != nil {
		again, err = l.decoder.take(now, l, &r)
	}
	if err != nil {
		if connect.Away(err) || connect.Redirected(err) {
			return r, Nothing, err
		}
		r.Err = l.describe(err)
		again = false
	}
	more, err := l.denied.take(now)
	if err != nil && (connect.Away(err) || connect.Redirected(err)) {
		return r, Nothing, err
	}
	if again || more {
		return r, Again, nil
	}
	if o = l.doubt(&r); o != Ready {
		return r, o, nil
	}
	l.denied.span(l.target.Window)
	l.denied.tell(now, &r)
	l.block.tell(&r)
	if !l.finish(now, &r) {
		return r, Nothing, nil
	}
	return r, Ready, nil
}

// A look is quiet if all of it was carried out within quietLook; a value and its time to live then agree to
// within what decoders allow. A key cannot be read if looksToJudge quiet looks in a row say so: one may lie
// between two writes of its program, and over a slow link the parts of a look are of different moments.
const (
	quietLook    = 25 * time.Millisecond
	looksToJudge = 2
)

// quiet reports whether the present look is.
func (l *Tracker) quiet() bool { return l.spread <= quietLook }

// doubt counts the looks that say that the key cannot be read, and returns Again while that may be a mistake.
// Where no look is quiet, the reading before stands, or what the key holds is unknown.
func (l *Tracker) doubt(r *model.Reading) Outcome {
	if _, fixed := l.decoder.(*wrongDecoder); l.wrong == "" || fixed {
		l.odd, l.unquiet = looksToJudge, 0
		if l.wrong == "" {
			l.odd = 0
		}
		return Ready
	}
	if l.quiet() {
		l.odd, l.unquiet = l.odd+1, 0
	} else {
		l.unquiet++
	}
	switch {
	case l.odd >= looksToJudge:
		return Ready
	case l.unquiet < looksToJudge:
		return Again
	case l.since != 0:
		return Nothing
	}
	r.Partial = true
	return Ready
}

// finish completes a reading with the fields that are common to all types. It returns false for
// a quick reading without news.
func (l *Tracker) finish(now limiter.Instant, r *model.Reading) bool {
	r.Type, r.TTL = l.typ, l.ttl
	r.Target = l.target
	r.State.Algorithm = l.target.Algorithm
	if l.wrong != "" && l.odd >= looksToJudge {
		r.Err = l.wrong
	}
	if r.Type == "none" {
		if l.silent == 0 {
			l.silent, l.deleted = now, now < l.lives.Add(-futureAllowed)
		}
	} else {
		l.silent, l.deleted, l.lives = 0, false, 0
		switch {
		case r.TTL == model.Forever:
			l.lives = math.MaxInt64
		case r.TTL > 0:
			l.lives = now.Add(r.TTL)
		}
	}
	if l.quick && !l.news(r) {
		return false
	}
	left := l.infer(r)
	r.Target = l.target
	t := &r.Target
	t.Library, t.Evidence, t.Ruled = l.library, l.evidence, l.rule.Narrow()
	if t.Described = l.rule != nil && l.rule.Layout != nil; t.Described {
		t.Script = l.rule.Script.Fires()
	}
	r.Why, r.Pattern = l.why, l.pattern
	if t.LimitFrom == model.NoLimit && t.LimitKnown {
		t.LimitFrom = model.LimitOfRule
	}
	withheld := l.withhold(r) || left
	stays := r.Err == "" && r.Type != "none" && r.TTL == model.Forever
	l.note(model.NoExpiry, stays && !(t.Described && !l.rule.Layout.Expires()))
	l.note(model.Inferred, t.Inferred && t.Algorithm != limiter.Unknown)
	l.note(model.UnknownLimit, !t.LimitKnown)
	l.note(model.UnknownWindow, t.Window == 0)
	l.note(model.ForeignWriter, t.Layout != (layout.Layout{}))
	l.note(model.TooHot, r.Approximate)
	over := false
	l.near = false
	if t.LimitKnown && t.Limit.Count > 0 && t.Window > 0 && r.Err == "" && !withheld {
		n, most := r.State.Peek(now, t.Limit, t.Convention, 0).Used, model.Capacity(*t)
		over = n > most
		l.near = float64(n) >= model.NearLimit*float64(most)
	}
	l.note(model.OverLimit, over)
	r.Notes = l.list()
	if l.past != nil {
		r.Since, r.Arrivals, r.Trace = l.past.From, l.past.Arrivals, l.past.Trace
		l.past = nil
	}
	l.arrived = 0
	for _, a := range r.Arrivals {
		l.arrived += a.N
	}
	l.measure(now)
	l.since = now
	l.Readings++
	return true
}

// figures holds the values of a reading that make it news when they change, as far as a quick
// reading can see them.
type figures struct {
	typ, err           string
	denied             model.Count
	start, tat, filled limiter.Instant
	previous, current  int64
	part               int64
	level              float64
	blocked            limiter.Instant
	known              bool
}

// news reports whether r differs from the previous reading, and remembers its figures.
func (l *Tracker) news(r *model.Reading) bool {
	s := &r.State
	t := figures{
		typ: r.Type, err: r.Err, denied: r.Denied, start: s.Start, tat: s.TAT, filled: s.Filled,
		previous: s.Previous, current: s.Current, part: s.Part, level: s.Level, blocked: s.BlockedUntil, known: true,
	}
	if t == l.reported && len(r.Arrivals) == 0 && !l.moved {
		return false
	}
	l.reported = t
	return true
}

// measure adds the latest arrivals to the smoothed rate.
func (l *Tracker) measure(now limiter.Instant) {
	over := now.Sub(l.since).Seconds()
	if l.since == 0 || over <= 0 {
		return
	}
	keep := math.Exp(-over)
	l.rate = l.rate*keep + float64(l.arrived)/over*(1-keep)
	l.moved = false
}

// list returns the notes in a fixed order.
func (l *Tracker) list() []model.Note {
	if len(l.notes) == 0 {
		return nil
	}
	out := make([]model.Note, 0, len(l.notes))
	for n := range l.notes {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// describe turns an error reply about this key into a sentence.
func (l *Tracker) describe(err error) string {
	switch connect.Code(err) {
	case "WRONGTYPE":
		l.note(model.WrongType, true)
		l.changed = true
		return "holds another type than it did before"
	case "NOPERM":
		l.refused = true
		return "must not be read by this user: " + connect.Remedy(err)
	}
	return fmt.Sprintf("cannot be read: %v", err)
}

// present takes the type of the key and the answer of PTTL, and reports whether the key exists.
// go-redis returns PTTL's -1 (no expiry) and -2 (no key) as that many nanoseconds.
func (l *Tracker) present(ttl time.Duration, typ string) bool {
	switch {
	case ttl == -2:
		l.typ, l.ttl = "none", 0
		return false
	case ttl < 0:
		l.ttl = model.Forever
	default:
		l.ttl = ttl
	}
	l.typ = typ
	return true
}

// gone reports whether the key has not existed for so long that it is no longer watched: for
// two windows, and for at least ten seconds. Where the server was emptied, ten seconds are enough for what was to live
// on: its limiter has forgotten what it counted.
func (l *Tracker) gone(now limiter.Instant, emptied bool) bool {
	long := 10 * time.Second
	if !emptied || !l.deleted {
		long = max(long, 2*l.target.Window)
	}
	return !l.Named && l.silent != 0 && now.Sub(l.silent) > long
}
