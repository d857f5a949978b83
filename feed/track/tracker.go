// Package track follows limiters from reading to reading. A Tracker knows one limiter; its
// decoder knows one way of keeping state: a sorted set of instants, a stream of counts, a
// counter a window, one value. A reading adds its commands to a pipeline (Ask) and turns the
// answers into a model.Reading (Take): what is new since the reading before, and a count of
// what is known already, to notice what was removed or came late. A key that is too hot to
// be fetched is counted per bin of time, which costs the same however busy it is. What is
// remembered of two windows outlives what the server trims, and is bounded.
//
// Nothing here is safe for concurrent use, and nothing talks to a server by itself.
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
	"ratescope/feed/track/infer"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// Query collects the commands of one pipeline.
type Query struct {
	Ctx      context.Context
	Pipe     redis.Pipeliner
	Now      limiter.Instant // the server's clock as far as it is known before the answer
	Ranges   int             // commands that return ranges; see rangesPerPipe
	Slots    bool            // a cluster: several keys in one command must share a slot
	Whole    bool            // everything about the key; else only what is new
	Entries  int             // entries that a record may keep one by one
	OnScreen bool            // the key is on screen: look at it as closely as can be
	Windows  *decode.Windows // what is inferred of windows over all keys; nil infers nothing
	Inferred *infer.Engine   // what is inferred of limiters that are only likely; nil infers nothing
	Denials  *Access         // to the recorded denials; nil permits
	Quick    bool            // between two refreshes: a reading that brings no news is not reported
}

// decoder reads what one limiter keeps on the server, in the way of its type.
type decoder interface {
	// ask adds the commands of the next reading.
	ask(q *Query, l *Tracker)
	// take reads their answers into r, at now. It returns true to be asked again at once,
	// because there was more than one reading may fetch; r is then not ready.
	take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error)
}

// Tracker follows one limiter from reading to reading.
type Tracker struct {
	Name    string // Reading.Key
	Named   bool   // the user named exactly this key
	certain bool   // what it will hold is known, even while it holds nothing
	rule    *config.Rule
	kind    decode.Kind
	typ     string
	decoder decoder

	library  string // whose layout the key has, "" where that is not known
	evidence model.Evidence
	why      []string // the evidence in clauses
	pattern  string   // the glob of the limiters of its kind

	windowKnown bool // the layout of the library says the window: nothing has to be guessed

	target model.Target
	notes  map[model.Note]bool
	denied denials
	block  block
	past   *Past
	skew   skew

	ttl      time.Duration
	since    limiter.Instant // of the reading before
	silent   limiter.Instant // since when the server holds nothing of it; 0 while it does
	arrived  int64           // units that came with the last reading
	near     bool            // near its limit, or over it
	Readings int             // readings so far
	rate     float64         // units a second, smoothed over about a second
	wrong    string          // why the key cannot be read, one sentence
	refused  bool            // this user may not read it
	changed  bool            // the key holds another type than before: find out anew

	inferred *infer.Engine // of the query
	unlikely bool          // it does not count as a limiter does

	quick    bool    // the reading under way is such a one
	moved    bool    // something left what the server holds, which no arrival tells
	reported figures // by the reading before
}

// settle works out how the key is limited from its rule and what its data shows.
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

// fixedWindow returns the window that the rule gives, 0 when it gives none.
func (l *Tracker) fixedWindow() time.Duration {
	if l.rule == nil {
		return 0
	}
	return l.rule.Span()
}

// guess takes a window that the data suggests, unless the rule knows better.
func (l *Tracker) guess(w time.Duration) {
	if w <= 0 || l.windowKnown || l.fixedWindow() > 0 || l.target.Window == w {
		return
	}
	l.target.Window, l.target.Limit.Window = w, w
}

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

// Outcome is what came of a reading.
type Outcome uint8

const (
	Ready   Outcome = iota // the reading is complete
	Again                  // there is more: ask again at once
	Nothing                // a quick reading brought no news, as if it had not been
)

// Take turns the answers into a reading, which holds only when it is Ready. An error says
// why nothing can be told of the server as a whole.
func (l *Tracker) Take(now limiter.Instant) (r model.Reading, o Outcome, err error) {
	again := false
	l.refused = false
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
	l.denied.span(l.target.Window)
	l.denied.tell(now, &r)
	l.block.tell(&r)
	if !l.finish(now, &r) {
		return r, Nothing, nil
	}
	return r, Ready, nil
}

// finish completes a reading with what holds for every type. It returns false when the
// reading tells nothing that the one before has not told.
func (l *Tracker) finish(now limiter.Instant, r *model.Reading) bool {
	r.Type, r.TTL = l.typ, l.ttl
	r.Target = l.target
	r.State.Algorithm = l.target.Algorithm
	if l.wrong != "" {
		r.Err = l.wrong
	}
	if r.Type == "none" {
		if l.silent == 0 {
			l.silent = now
		}
	} else {
		l.silent = 0
	}
	if l.quick && !l.news(r) {
		return false
	}
	l.infer(r)
	r.Target = l.target
	t := &r.Target
	t.Library, t.Evidence, t.Ruled = l.library, l.evidence, l.rule.Narrow()
	r.Why, r.Pattern = l.why, l.pattern
	if t.LimitFrom == model.NoLimit && t.LimitKnown {
		t.LimitFrom = model.LimitOfRule
	}
	l.note(model.NoExpiry, r.Err == "" && r.Type != "none" && r.TTL == model.Forever)
	l.note(model.Inferred, t.Inferred && t.Algorithm != limiter.Unknown)
	l.note(model.UnknownLimit, !t.LimitKnown)
	l.note(model.UnknownWindow, t.Window == 0)
	l.note(model.ForeignWriter, t.Layout != (layout.Layout{}))
	l.note(model.TooHot, r.Approximate)
	over := false
	l.near = false
	if t.LimitKnown && t.Limit.Count > 0 && t.Window > 0 && r.Err == "" {
		n, most := r.State.Peek(now, t.Limit, t.Convention, 0).Used, model.Capacity(*t)
		over = n > most
		l.near = float64(n) >= model.NearLimit*float64(most)
	}
	l.note(model.OverLimit, over)
	r.Notes = l.list()
	if l.past != nil {
		l.past.open(r)
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

// figures is what a reading said beside its arrivals, as far as a quick reading can see it.
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

// news says whether r tells more than the reading before, and takes note of what it tells.
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

// measure smooths the rate.
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

// present takes the answer of PTTL: in milliseconds, -1 for no expiry, -2 for no key
// (which go-redis returns as nanoseconds).
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

// gone says that the key has been away for so long that it is not looked for any more: two
// windows, and not less than ten seconds.
func (l *Tracker) gone(now limiter.Instant) bool {
	return !l.Named && l.silent != 0 && now.Sub(l.silent) > max(2*l.target.Window, 10*time.Second)
}
