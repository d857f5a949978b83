package feed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// query collects the commands of one pipeline.
type query struct {
	ctx    context.Context
	pipe   redis.Pipeliner
	now    limiter.Instant // the server's clock as far as it is known before the answer
	ranges int             // commands that return ranges; see rangesPerPipe
	slots  bool            // a cluster: several keys in one command must share a slot
	whole  bool            // everything about the key; else only what is new
	most   int             // entries that a record may keep one by one
}

// body reads what one limiter keeps on the server, in the way of its type.
type body interface {
	// ask adds the commands of the next look.
	ask(q *query, l *look)
	// take reads their answers into r, at now. It returns true to be asked again at once,
	// because there was more than one look may fetch; r is then not ready.
	take(now limiter.Instant, l *look, r *model.Reading) (again bool, err error)
}

// look follows one limiter from reading to reading.
type look struct {
	name    string // Reading.Key
	named   bool   // somebody asked for exactly this key
	certain bool   // what it will hold is known, even while it holds nothing
	rule    *Rule
	kind    kind
	typ     string
	body    body

	target model.Target
	notes  map[model.Note]bool
	denied denials
	block  block
	past   *past

	ttl     time.Duration
	since   limiter.Instant // of the reading before
	silent  limiter.Instant // since when the server holds nothing of it; 0 while it does
	due     time.Time
	heat    int64 // units that came with the last reading
	near    bool  // near its limit, or over it
	looks   int   // readings so far
	quiet   int   // readings in a row without news
	rank    int
	place   int    // on screen, from 1; 0 is not
	moved   bool   // to another node of a cluster
	wrong   string // why the key cannot be read, one sentence
	changed bool   // the key holds another type than before: find out anew
}

// kind is what the data of a limiter looks like.
type kind uint8

const (
	kindNone    kind = iota // nothing there yet
	kindLog                 // a ZSET of instants
	kindStream              // a stream of counts
	kindCounter             // a string a window
	kindSingle              // one string with an expiry: a window that began with its first request
	kindTAT                 // one string or hash that holds a TAT
	kindBucket              // a hash of level and instant
	kindWrong               // a type that the rule does not speak of
)

// settle works out how the key is limited from its rule and what its data shows.
func (l *look) settle(a limiter.Algorithm, layout limiter.Layout, window time.Duration) {
	t := model.Target{Algorithm: a, Inferred: true, Layout: layout, Window: window}
	if r := l.rule; r != nil {
		t.Convention = r.Convention
		t.Limit, t.LimitKnown = r.Limit, r.LimitKnown
		if r.Algorithm != limiter.Unknown {
			t.Algorithm, t.Inferred = r.Algorithm, false
		}
		if w := r.window(); w > 0 {
			t.Window = w
		}
	}
	t.Limit.Window = t.Window
	l.target = t
}

// fixedWindow returns the window that the rule gives, 0 when it gives none.
func (l *look) fixedWindow() time.Duration {
	if l.rule == nil {
		return 0
	}
	return l.rule.window()
}

// guess takes a window that the data suggests, unless the rule knows better.
func (l *look) guess(w time.Duration) {
	if w <= 0 || l.fixedWindow() > 0 || l.target.Window == w {
		return
	}
	l.target.Window, l.target.Limit.Window = w, w
}

func (l *look) note(n model.Note, on bool) {
	if on {
		if l.notes == nil {
			l.notes = make(map[model.Note]bool)
		}
		l.notes[n] = true
	} else {
		delete(l.notes, n)
	}
}

// ask adds the commands of the next reading.
func (l *look) ask(q *query) {
	if l.body != nil {
		l.body.ask(q, l)
	}
	l.denied.ask(q, l)
	l.block.ask(q, l)
}

// take turns the answers into a reading. ok is false when it is not ready: the look
// wants to be asked again at once, or an error says why nothing can be told.
func (l *look) take(now limiter.Instant) (r model.Reading, again bool, err error) {
	r = model.Reading{Key: l.name, Type: l.typ, At: now, Since: l.since, TTL: l.ttl}
	if l.body != nil {
		again, err = l.body.take(now, l, &r)
	}
	if err != nil {
		if away(err) || redirected(err) {
			return r, false, err
		}
		r.Err = l.describe(err)
		again = false
	}
	more, err := l.denied.take(now)
	if err != nil && (away(err) || redirected(err)) {
		return r, false, err
	}
	if again || more {
		return r, true, nil
	}
	l.denied.span(l.target.Window)
	l.denied.tell(now, &r)
	l.block.tell(&r)
	l.finish(now, &r)
	return r, false, nil
}

// finish completes a reading with what holds for every type.
func (l *look) finish(now limiter.Instant, r *model.Reading) {
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
	t := &r.Target
	l.note(model.NoExpiry, r.Err == "" && r.Type != "none" && r.TTL == model.Forever)
	l.note(model.Inferred, t.Inferred && t.Algorithm != limiter.Unknown)
	l.note(model.UnknownLimit, !t.LimitKnown)
	l.note(model.UnknownWindow, t.Window == 0)
	l.note(model.ForeignWriter, t.Layout != (limiter.Layout{}))
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
	l.heat = 0
	for _, a := range r.Arrivals {
		l.heat += a.N
	}
	l.since = now
	l.looks++
}

// list returns the notes in a fixed order.
func (l *look) list() []model.Note {
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
func (l *look) describe(err error) string {
	switch code(err) {
	case "WRONGTYPE":
		l.note(model.WrongType, true)
		l.changed = true
		return "holds another type than it did before"
	case "NOPERM":
		return "must not be read by this user: " + remedy(err)
	}
	return fmt.Sprintf("cannot be read: %v", err)
}

// present takes the answer of PTTL: in milliseconds, -1 for no expiry, -2 for no key
// (which go-redis returns as nanoseconds).
func (l *look) present(ttl time.Duration, typ string) bool {
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

// gone says that the key has been away for so long that nobody waits for it: two
// windows, and not less than ten seconds.
func (l *look) gone(now limiter.Instant) bool {
	return !l.named && l.silent != 0 && now.Sub(l.silent) > max(2*l.target.Window, 10*time.Second)
}
