// Package track follows limiters from reading to reading. A Tracker follows one limiter; its decoder knows one form of state: a sorted set
// of instants, a stream of counts, a counter for each window, or a single value. For each reading, Ask adds commands to a pipeline and
// Take turns the answers into a model.Reading. The commands fetch the entries that are new since the previous reading, and count the known
// ones to notice entries that were removed or came late. Where too many entries come to fetch them, they are counted per bin of time,
// which costs the same however many there are. The entries of two windows are remembered, in bounded memory, even after the server has
// trimmed them.
//
// Nothing here is safe for concurrent use, and nothing sends commands by itself.
package track

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
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
	Beside   *Access         // to what stands beside counters; nil permits it
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
	kind    decode.Kind
	decoder decoder
	Found   Finding

	aim    aim
	notes  notes
	denied denials
	block  block
	past   *Past

	key      presence
	look     looks
	news     news
	since    limiter.Instant // of the previous reading
	arrived  int64           // units that came with the latest reading
	kept     []model.Arrival // of the earlier looks of a reading that is not ready yet
	Readings int             // readings so far
	Near     bool            // near its limit, or over it
	Deleted  bool            // it does not exist although it was to live on
	Refused  bool            // the server's latest answer was that this user may not read the key
	changed  bool            // the key holds another type than before, and must be recognized again

	inferred *Engine // of the latest query
	unlikely bool    // its values do not change like those of a limiter
	charges  bool    // it was seen to count requests that it denied, though nothing says that it does
	withheld bool    // the figures of the latest reading are, for what the keys of its pattern show
}

// Finding is what discovery has found of a limiter.
type Finding struct {
	Library  string // in whose layout the key is; "" if unknown
	Evidence model.Evidence
	Why      []string    // the evidence, in clauses
	Pattern  string      // a glob of the limiters of the same kind
	General  bool        // Pattern is made of the names of many limiters, since no library's layout gives one
	Type     string      // Redis type of the find
	Kind     decode.Kind // what its value is
}

// presence is whether the key exists, and until when.
type presence struct {
	typ    string // "none" where it does not exist
	ttl    time.Duration
	silent limiter.Instant // since when it does not exist; 0 while it does
	lives  limiter.Instant // until when it was to live, as of the latest reading of it; 0 not known
}

// looks counts the looks at a key that cannot be read.
type looks struct {
	wrong   string          // why it cannot be read, in one sentence
	spread  time.Duration   // within which the present reading was made
	odd     int             // consecutive quiet looks at which wrong was set, each looksApart after the one before
	oddAt   limiter.Instant // of the latest of them
	unquiet int             // consecutive other looks at which it was
}

// Ask adds the commands of the next reading.
func (l *Tracker) Ask(q *Query) {
	l.news.quick, l.inferred = q.Quick, q.Inferred
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

// Take turns the answers into a reading, which is valid only if the outcome is Ready. now is the server's clock after the last command,
// and the first was carried out up to spread before it. It fails when the server is away or the key is on another node.
func (l *Tracker) Take(now limiter.Instant, spread time.Duration) (r model.Reading, o Outcome, err error) {
	again := false
	l.Refused, l.look.spread = false, spread
	r = model.Reading{Key: l.Name, Type: l.key.typ, At: now, Since: l.since, TTL: l.key.ttl}
	if l.decoder != nil {
		again, err = l.decoder.take(now, l, &r)
	}
	if len(l.kept) > 0 { // a decoder returns each arrival once
		r.Arrivals = slices.Concat(l.kept, r.Arrivals)
	}
	l.kept = r.Arrivals
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
	_, certain := l.decoder.(*wrongDecoder)
	o, unknown := l.look.judge(now, certain, l.since != 0)
	if o != Ready {
		return r, o, nil
	}
	r.Partial = r.Partial || unknown
	l.kept = nil
	l.denied.span(l.aim.target.Window)
	l.denied.tell(now, &r)
	l.block.tell(&r)
	if !l.finish(now, &r) {
		return r, Nothing, nil
	}
	return r, Ready, nil
}

// A look is quiet if all of it was carried out within quietLook; a value and its time to live then agree to within what decoders allow. A
// key cannot be read if looksToJudge quiet looks in a row say so, looksApart from each other: its program may stand still between two of
// its writes, for as long as a busy machine lets it wait, and over a slow link the parts of a look are of different moments.
const (
	quietLook    = 25 * time.Millisecond
	looksToJudge = 2
	looksApart   = 250 * time.Millisecond
)

// quiet reports whether the present look is.
func (k *looks) quiet() bool { return k.spread <= quietLook }

// judge counts the looks that say that the key cannot be read, and returns Again or Nothing while that may be a mistake; certain means
// that it is none. The reading before stands; where no look is quiet and there was none before, what the key holds is unknown.
func (k *looks) judge(at limiter.Instant, certain, before bool) (o Outcome, unknown bool) {
	switch {
	case k.wrong == "" || certain:
		k.odd, k.unquiet = collect.If(certain && k.wrong != "", looksToJudge, 0), 0
		return Ready, false
	case !k.quiet():
		k.unquiet++
	case k.odd == 0 || at.Sub(k.oddAt).Abs() >= looksApart:
		k.odd, k.oddAt, k.unquiet = k.odd+1, at, 0
	}
	switch {
	case k.odd >= looksToJudge:
		return Ready, false
	case k.unquiet > 0 && k.unquiet < looksToJudge:
		return Again, false
	case k.unquiet == 0 || before:
		return Nothing, false
	}
	return Ready, true
}

// finish completes a reading with the fields that are common to all types. It returns false for a quick reading without news.
func (l *Tracker) finish(now limiter.Instant, r *model.Reading) bool {
	r.Type, r.TTL = l.key.typ, l.key.ttl
	r.Target = l.aim.target
	r.State.Algorithm = l.aim.target.Algorithm
	if l.look.wrong != "" && l.look.odd >= looksToJudge {
		r.Err = l.look.wrong
	}
	if r.Type == "none" {
		if l.key.silent == 0 {
			l.key.silent, l.Deleted = now, now < l.key.lives.Add(-futureAllowed)
		}
	} else {
		l.key.silent, l.Deleted, l.key.lives = 0, false, 0
		switch {
		case r.TTL == model.Forever:
			l.key.lives = math.MaxInt64
		case r.TTL > 0:
			l.key.lives = now.Add(r.TTL)
		}
	}
	if l.news.quick && !l.news.come(r) {
		return false
	}
	left := l.infer(r)
	l.inferred.count(l.Found.Pattern, numbers(l.decoder), r.Arrivals)
	r.Target = l.aim.target
	t := &r.Target
	t.Library, t.Evidence, t.Ruled = l.Found.Library, l.Found.Evidence, l.aim.rule.Narrow()
	if t.Described = l.aim.described(); t.Described {
		t.Script = l.aim.rule.Script.Fires()
	}
	r.Why, r.Pattern = l.Found.Why, l.Found.Pattern
	if t.LimitFrom == model.NoLimit && t.LimitKnown {
		t.LimitFrom = model.LimitOfRule
	}
	withheld := l.withhold(r) || left
	stays := r.Err == "" && r.Type != "none" && r.TTL == model.Forever && r.State.BlockedUntil == 0
	l.notes.set(model.NoExpiry, stays && !(t.Described && !l.aim.rule.Layout.Expires()))
	l.notes.set(model.Inferred, t.Inferred && t.Algorithm != limiter.Unknown)
	l.notes.set(model.UnknownLimit, !t.LimitKnown)
	l.notes.set(model.UnknownWindow, t.Window == 0)
	l.notes.set(model.ForeignWriter, t.Layout != (layout.Layout{}))
	l.notes.set(model.TooHot, r.Approximate)
	l.Near = false
	l.notes.set(model.OverLimit, false)
	if t.LimitKnown && t.Limit.Count > 0 && t.Window > 0 && r.Err == "" && !withheld {
		n, most := r.State.Peek(now, t.Limit, t.Convention, 0).Used, model.Capacity(*t)
		l.notes.set(model.OverLimit, n > most)
		l.Near = float64(n) >= model.NearLimit*float64(most)
		l.overrun(r, n, most)
	}
	r.Notes = l.notes.list()
	if l.past != nil {
		r.Since, r.Arrivals, r.Trace = l.past.From, l.past.Arrivals, l.past.Trace
		l.past = nil
	}
	l.arrived = collect.Sum(r.Arrivals, func(a model.Arrival) int64 { return a.N })
	l.news.moved = false
	l.since = now
	l.Readings++
	return true
}

// overrun marks as denied what a counter of no library counted at its limit, where nothing is admitted. A program that has done
// so counts each request before it decides, so that the units above the limit are those that it denied.
func (l *Tracker) overrun(r *model.Reading, used, most int64) {
	if r.Target.Algorithm != limiter.FixedWindow || r.Denied.Known || l.Found.Library != "" {
		return
	}
	came := collect.Sum(r.Arrivals, func(a model.Arrival) int64 { return a.N })
	room := max(most-used+came, 0)
	if l.charges = l.charges || came > 0 && room == 0; !l.charges {
		return
	}
	if came > room {
		r.Arrivals = slices.DeleteFunc([]model.Arrival{{At: r.At, N: room}, {At: r.At, N: came - room, Denied: true}},
			func(a model.Arrival) bool { return a.N == 0 })
	}
	r.Denied = turnedAway(r, used, most, r.TTL == model.Forever)
}

// news tells readings that are as the previous one.
type news struct {
	quick    bool           // the present reading is a quick one
	moved    bool           // entries were removed since the previous reading, which no arrival shows
	reported *model.Reading // what the previous reading had of what makes it news
}

// come reports whether r differs from the previous reading, as far as a quick one can see it, and remembers it.
func (n *news) come(r *model.Reading) bool {
	now := &model.Reading{Type: r.Type, Err: r.Err, Denied: r.Denied, State: r.State}
	if now.State.Log = nil; reflect.DeepEqual(now, n.reported) && len(r.Arrivals) == 0 && !n.moved {
		return false
	}
	n.reported = now
	return true
}

// anotherType says why a key whose type has changed cannot be read.
const anotherType = "holds another type than it did before"

// describe turns an error reply about this key into a sentence.
func (l *Tracker) describe(err error) string {
	switch connect.Code(err) {
	case "WRONGTYPE":
		l.notes.set(model.WrongType, true)
		l.changed = true
		return anotherType
	case "NOPERM":
		l.Refused = true
		return "must not be read by this user: " + connect.Remedy(err)
	}
	return fmt.Sprintf("cannot be read: %v", err)
}

// present takes the type of the key and the answer of PTTL, and reports whether the key exists.
// go-redis returns PTTL's -1 (no expiry) and -2 (no key) as that many nanoseconds.
func (k *presence) present(ttl time.Duration, typ string) bool {
	switch {
	case ttl == -2:
		k.typ, k.ttl = "none", 0
		return false
	case ttl < 0:
		k.ttl = model.Forever
	default:
		k.ttl = ttl
	}
	k.typ = typ
	return true
}
