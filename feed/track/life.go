package track

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
)

// New returns a tracker of the limiter of that name, without a decoder yet. always means that
// all denials are recorded, so that no record means no denial. p holds earlier traffic, or nil.
func New(name string, r *config.Rule, always bool, p *Past) *Tracker {
	return &Tracker{Name: name, key: presence{typ: "none"}, aim: aim{rule: r}, past: p,
		denied: denials{key: layout.DeniedKey(name), always: always}}
}

// Probe makes the tracker wait until a key of its name exists, in whatever form, because the user named it.
func (l *Tracker) Probe() {
	l.Named = true
	l.decoder = &probeDecoder{key: l.Name}
	l.aim.settle(limiter.Unknown, layout.Layout{}, l.aim.target.Window)
}

// Await makes the tracker keep its decoder even while the key does not exist, because the form that the key will have is known.
func (l *Tracker) Await() { l.Named, l.certain = true, true }

// Meet takes a find for the tracker's own limiter. It returns false if a new tracker of the find has to replace this one.
func (l *Tracker) Meet(f decode.Found) bool {
	switch {
	case f.Denied:
		l.denied.skip = 0
		return true
	case f.Blocked:
		l.block.key = f.Key
		return true
	}
	if b, ok := l.decoder.(*counterDecoder); ok && f.Kind == decode.Counter && b.own == f.Own {
		b.meet(f.Start)
		return true
	}
	if b, ok := l.decoder.(*libraryDecoder); ok && f.Match != nil && f.Match.Rule > 0 {
		if own, ok := b.match.Limiter.(interface{ Same(decode.Limiter) bool }); ok && !own.Same(f.Match.Limiter) {
			return false
		}
	}
	// The find must not replace a key of another kind that still exists.
	return l.key.silent == 0 && l.kind != decode.None && l.kind != f.Kind || l.kind == f.Kind
}

// Succeed makes l, a new tracker, the successor of was for the find f.
func (l *Tracker) Succeed(was *Tracker, f decode.Found) {
	l.Named, l.past = was.Named, was.past
	l.since = was.since
	l.denied = was.denied
	l.Attach(f)
	if was.kind != decode.None || was.since == 0 {
		return
	}
	switch b := l.decoder.(type) { // the key did not exist before, so that all it holds is new
	case *counterDecoder:
		b.values = make(map[limiter.Instant]int64)
		b.watched = was.since
	case *singleDecoder:
		b.known = true
	case *valueDecoder:
		b.known = true
		b.last.Algorithm = l.aim.target.Algorithm
	}
}

// Gone reports whether the key of the tracker no longer exists at now; emptied says that most keys were deleted, as by FLUSHALL. A
// tracker of a named key is always needed: when the key is gone or has changed, it waits for a key of its name again.
func (l *Tracker) Gone(now limiter.Instant, emptied bool) bool {
	b, single := l.decoder.(*singleDecoder)
	long := 10 * time.Second // without the key; of what was to live on where the server was emptied its limiter has forgotten all
	if !emptied || !l.Deleted {
		long = max(long, 2*l.aim.target.Window)
	}
	if !l.Named {
		return single && b.over(now) && l.Found.Evidence == model.Likely || l.key.silent != 0 && now.Sub(l.key.silent) > long
	}
	absent := l.key.silent != 0 && now.Sub(l.key.silent) > 2*max(l.aim.target.Window, time.Second)
	if l.changed || absent && !l.certain && l.kind != decode.None {
		l.kind, l.look.wrong, l.changed = decode.None, "", false
		l.notes.set(model.WrongType, false)
		l.Probe()
	}
	return false
}

// Changed reports whether the key holds another type than before, and must be recognized again.
func (l *Tracker) Changed() bool { return l.changed && !l.Named }

// Resync makes the tracker read its last window again, because its record may be wrong.
func (l *Tracker) Resync() {
	if b, ok := l.decoder.(interface{ resync() }); ok {
		b.resync()
	}
}

// Scattered reports whether the keys of the limiter may be on different nodes of a cluster, as
// the counters of foreign libraries are, whose names differ for every window.
func (l *Tracker) Scattered() bool {
	b, ok := l.decoder.(*counterDecoder)
	return ok && b.own == limiter.Unknown
}

// Hit returns the find of a tracker that waited for a key of its name; nil if there is none.
func (l *Tracker) Hit() *decode.Found {
	if p, ok := l.decoder.(*probeDecoder); ok {
		return p.hit
	}
	return nil
}

// Pressing reports whether the key is busy or near its limit.
func (l *Tracker) Pressing() bool { return l.arrived > 0 || l.Near }

// Lasts returns how long the key will exist if nothing is written to it: its expiry, or the
// greatest Duration if it has none or is unknown.
func (l *Tracker) Lasts() time.Duration {
	if l.key.typ == "none" || l.key.ttl < 0 || l.key.ttl == model.Forever {
		return math.MaxInt64
	}
	return l.key.ttl
}

// Past is the traffic of a key before its first reading, which the embedded source generates.
// Its arrivals replace those of the first reading.
type Past struct {
	From     limiter.Instant // the start of the past: that of the previous clock-aligned window
	Arrivals []model.Arrival // oldest first
	Trace    []model.Level
}

// entries returns what was admitted, or denied.
func (p *Past) entries(denied bool) []limiter.Entry {
	of := collect.Only(p.Arrivals, func(a model.Arrival) bool { return a.Denied == denied })
	return collect.Map(of, func(a model.Arrival) limiter.Entry { return limiter.Entry{At: a.At, Count: a.N} })
}

// lay gives the decoder of a tracker the entries that the server no longer has.
func (p *Past) lay(l *Tracker) {
	admitted, laid := p.entries(false), record{window: l.aim.target.Window}
	laid.entries = admitted
	switch b := l.decoder.(type) {
	case *logDecoder:
		b.record = laid
	case *streamDecoder:
		b.record = laid
	case *counterDecoder:
		b.values, b.watched = map[limiter.Instant]int64{}, p.From
		for _, e := range admitted {
			b.values[e.At.Floor(laid.window)] += e.Count
		}
	}
	laid.entries = p.entries(true)
	l.denied.record = laid
}

// Suggested returns the algorithm that values of a kind suggest.
func Suggested(k decode.Kind) limiter.Algorithm { return suggested[k] }

var suggested = map[decode.Kind]limiter.Algorithm{decode.Log: limiter.SlidingLog, decode.Stream: limiter.StreamCounter,
	decode.Single: limiter.FixedWindow, decode.Counter: limiter.FixedWindow, decode.TAT: limiter.GCRA, decode.Bucket: limiter.TokenBucket}

// Attach gives the tracker the decoder for a find.
func (l *Tracker) Attach(f decode.Found) {
	l.kind, l.key.typ, l.look.wrong = f.Kind, f.Type, ""
	l.Found.Library, l.Found.Evidence = f.Library, f.Evidence
	l.Found.Why, l.Found.Pattern = f.Why(), f.Pattern()
	l.Found.General, l.Found.Type, l.Found.Kind = f.General(), f.Type, f.Kind
	if f.Kind == decode.OfLibrary {
		if l.attachLibrary(f) {
			return
		}
		f = f.Form() // the rule names another algorithm, which overrides the library's
		l.kind, l.Found.Library = f.Kind, ""
	}
	if f.Kind == decode.Opaque && f.Evidence != model.Likely {
		f.Kind = decode.Wrong // the user named the key, so that an error explains what is wrong
		l.kind = f.Kind
	}
	a, form := suggested[f.Kind], layout.Layout{}
	switch {
	case f.Kind == decode.Counter && f.Own != limiter.Unknown:
		a = f.Own
	case f.Kind == decode.Counter:
		form = layout.Layout{Unit: f.Unit, Suffixed: true}
	case f.Kind == decode.Bucket && f.Field == "level":
		a = limiter.LeakyBucket
	}
	l.aim.settle(a, form, 0)
	if f.Kind == decode.Single && f.Window.To > 0 {
		l.aim.guess(f.Window.Length)
		l.aim.windowKnown = true // an expiry is no more than an upper bound of it
	}
	if f.Match != nil {
		l.aim.adopt(f.Match.Settings, l.Found.Library, &l.notes)
		l.block.life = f.Match.Blocks
		l.aim.windowKnown = f.Match.Window > 0 && !f.Match.Guessed
	}
	if f.Kind == decode.Counter && f.Own != limiter.Unknown {
		l.aim.target.Inferred = false
	}
	rule := l.aim.given().Algorithm
	l.notes.set(model.WrongType, false)
	if describe.KindOf(rule) == describe.Arrival && f.Type == "string" && f.Key == l.Name {
		f.Kind = decode.TAT // its decoder reports what is wrong with a value that is no TAT
		l.kind = f.Kind
	}
	if f.Kind == decode.Wrong || !suits(f.Kind, rule) {
		l.misfit(f.Key, f.Type, rule)
		return
	}
	l.decoder = newDecoder(f)
	if l.past != nil {
		l.past.lay(l)
	}
}

// attachLibrary gives the tracker the decoder of the library that was recognized. It returns
// false if a rule for the key names another algorithm.
func (l *Tracker) attachLibrary(f decode.Found) bool {
	if r := l.aim.rule; r.Narrow() && r.Algorithm != limiter.Unknown && r.Algorithm != f.Match.Algorithm {
		return false
	}
	l.aim.settle(limiter.Unknown, layout.Layout{}, 0)
	l.aim.adopt(f.Match.Settings, l.Found.Library, &l.notes)
	l.decoder = &libraryDecoder{match: f.Match}
	return true
}

// misfit makes the tracker report that the key does not hold what rule keeps, or, with limiter.Unknown, what any known limiter keeps.
func (l *Tracker) misfit(key, typ string, rule limiter.Algorithm) {
	l.kind = decode.Wrong
	l.notes.set(model.WrongType, true)
	l.decoder = &wrongDecoder{key: key, seen: typ}
	if rule == limiter.Unknown {
		l.look.wrong = fmt.Sprintf("holds %s, which is not how a known rate limiter keeps its state: tell its layout by a rule with name, "+
			"or check its name", article(typ))
		return
	}
	l.look.wrong = fmt.Sprintf("holds %s, the rule says %s (%s): correct --algorithm or its rule", article(typ), rule, wants(rule))
	if typ == wants(rule) {
		l.look.wrong = fmt.Sprintf("holds %s that is %s: correct --algorithm or its rule, or remove the key", article(typ), lacks(rule))
	}
}

// kept is how algorithms keep their state: in which Redis type, what is missing in a key of that type that is not theirs, and what
// their data looks like.
var kept = map[describe.Kind]struct {
	typ, lacks string
	kinds      []decode.Kind
}{
	describe.Log:    {"zset", "no count of requests, as a %s keeps it", []decode.Kind{decode.Log}},
	describe.Window: {"string", "no count of requests, as a %s keeps it", []decode.Kind{decode.Counter, decode.Single}},
	describe.Weighted: {"string", "no counter of a sliding window, of which there is one for each window, named after its start",
		[]decode.Kind{decode.Counter}},
	describe.Arrival: {"string", "no count of requests, as a %s keeps it", []decode.Kind{decode.TAT}},
	describe.Bucket:  {"hash", "no %s, which has the fields %s and at, a number and a time", []decode.Kind{decode.Bucket}},
}

// wants returns the Redis type in which an algorithm keeps its state.
func wants(a limiter.Algorithm) string {
	if a == limiter.StreamCounter {
		return "stream"
	}
	return kept[describe.KindOf(a)].typ
}

// lacks returns what is missing in a key that has the right type and is not the algorithm's.
func lacks(a limiter.Algorithm) string {
	text := kept[describe.KindOf(a)].lacks
	args := []any{describe.Title(a), collect.If(a == limiter.LeakyBucket, "level", "tokens")}
	return fmt.Sprintf(text, args[:strings.Count(text, "%")]...)
}

func article(typ string) string {
	if strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// suits reports whether data of a kind can be the state of an algorithm.
func suits(k decode.Kind, a limiter.Algorithm) bool {
	form, known := kept[describe.KindOf(a)]
	if a == limiter.StreamCounter {
		return k == decode.Stream
	}
	return slices.Contains(form.kinds, k) || !known && k != decode.Wrong
}

// newDecoder returns the decoder of a find; nil if there is none.
func newDecoder(f decode.Found) decoder {
	switch f.Kind {
	case decode.Log:
		return &logDecoder{key: f.Key}
	case decode.Stream:
		return &streamDecoder{key: f.Key}
	case decode.Counter:
		b := &counterDecoder{base: f.Name, own: f.Own, unit: f.Unit}
		b.meet(f.Start)
		return b
	case decode.Single:
		return &singleDecoder{key: f.Key, window: f.Window}
	case decode.TAT:
		return &valueDecoder{key: f.Key}
	case decode.Bucket:
		return &valueDecoder{key: f.Key, field: f.Field}
	case decode.Opaque:
		return &wrongDecoder{key: f.Key, seen: f.Type}
	}
	return nil
}
