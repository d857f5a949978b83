package track

import (
	"cmp"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/model"
)

// libraryDecoder reads a limiter in the layout of a library that was recognized.
type libraryDecoder struct {
	match *decode.Match

	asked   []*decode.Pending
	windows *decode.Windows
	counts  []int64       // of which the unit is not told
	last    model.Reading // the previous reading; zero for none
}

func (b *libraryDecoder) ask(q *Query, _ *Tracker) {
	b.windows = q.Windows
	b.asked = b.asked[:0]
	for _, f := range b.match.Limiter.Fetch(q.Now) {
		b.asked = append(b.asked, decode.Ask(q.Ctx, q.Pipe, f))
	}
}

func (b *libraryDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	got := make([]decode.Sample, len(b.asked))
	mismatch := false
	for i, p := range b.asked {
		if got[i], err = p.Sample(); err != nil {
			return false, err
		}
		mismatch = mismatch || got[i].Mismatch
	}
	given := l.aim.given()
	if given.Window == 0 {
		given.Window = b.windows.Of(b.match)
		given.Guessed = given.Window > 0
	}
	d := b.match.Limiter.Decode(now, got, given)
	if d.More {
		return true, nil
	}
	b.windows.Learn(b.match, d.Span)
	b.counts = d.Counts
	if l.look.wrong = d.Err; mismatch && d.Err == "" {
		l.look.wrong = anotherType
	}
	if l.look.wrong != "" && l.look.quiet() && l.look.odd >= looksToJudge { // it is recognized anew
		l.changed = true
	}
	l.key.typ, l.key.ttl = cmp.Or(d.Type, "none"), d.TTL
	l.aim.adopt(d.Settings, l.Found.Library, &l.notes)
	l.notes.set(model.WindowInferred, d.Guessed && l.aim.target.Window > 0)
	l.notes.set(model.NotWhole, false)
	for _, n := range d.Notes {
		l.notes.set(n, true)
	}
	r.State, r.PreviousKnown, r.Ends, r.Members = d.State, d.PreviousKnown, d.Ends, d.Members
	r.State.Algorithm = l.aim.target.Algorithm
	l.aim.target.Exact = foreign.Writes(b.match.Library.Name, d.Algorithm, d.Type) && d.Algorithm == l.aim.target.Algorithm
	if l.aim.target.Base = ""; b.match.Name != l.Name {
		l.aim.target.Base = b.match.Name
	}
	// What is used of a bucket follows from what it holds when full.
	lacking := d.NeedsBurst && !l.aim.target.LimitKnown && l.key.typ != "none"
	r.Target, r.Denied, r.Partial, r.Approximate = l.aim.target, d.Denied, d.Partial || lacking, d.Approximate
	if l.look.wrong == "" {
		b.rise(now, l, r, &d)
		if d.NewlyDenied > 0 && l.since != 0 {
			r.Arrivals = append(r.Arrivals, model.Arrival{At: now, N: d.NewlyDenied, Denied: true})
		}
		b.last = *r
	}
	return false, nil
}

// rise adds arrivals for the units charged since the previous reading: how much more is used
// now than would be without a request. If denied requests are counted too, units above the limit
// were denied.
func (b *libraryDecoder) rise(now limiter.Instant, l *Tracker, r *model.Reading, d *decode.Decoded) {
	most := model.Capacity(r.Target)
	at := settled(&r.State, l.since, now)
	after := r.Gauge(at).Used
	charged := d.Charged && l.aim.target.LimitKnown && most > 0 && after.Known
	if charged && !r.Denied.Known {
		r.Denied = turnedAway(r, after.N, most, d.Hides || d.TTL == model.Forever)
	}
	if l.since == 0 || b.last.At == 0 || !after.Known {
		return
	}
	before := b.last.Gauge(at).Used
	came := after.N - before.N
	if !before.Known || came <= 0 {
		return
	}
	admitted := came
	if charged {
		admitted = max(min(after.N, most)-min(before.N, most), 0)
	}
	if admitted > 0 {
		r.Arrivals = append(r.Arrivals, model.Arrival{At: now, N: admitted})
	}
	if came > admitted {
		r.Arrivals = append(r.Arrivals, model.Arrival{At: now, N: came - admitted, Denied: true})
	}
}

// turnedAway returns how many requests of the present window were denied, for limiters that
// count denied requests too: the units above the limit. The number is unknown for weighted
// windows, for windows of unknown length, and during a block, at whose start a library may set
// the count. With hides, set if the library hides denials or the key never expires, it is also
// unknown as soon as the limit is reached.
func turnedAway(r *model.Reading, used, most int64, hides bool) model.Count {
	t := &r.Target
	if t.Algorithm != limiter.FixedWindow || t.Window <= 0 || r.State.BlockedUntil > r.At || hides && used >= most {
		return model.Count{}
	}
	return model.Count{Known: true, N: max(used-most, 0)}
}

// probeDecoder waits for a key that the user named: it checks whether the key itself exists or,
// if the window is known, counters of that name.
type probeDecoder struct {
	key  string
	hit  *decode.Found // the find; nil for none
	typ  *redis.StatusCmd
	more *decode.Probe // examines the key; nil while only its type is asked for
	held string        // the type of the key that is being examined; "" for none
	kin  bool          // the second step: the siblings of the key, which have to agree with it

	counters []decode.Found
	exists   []*redis.IntCmd
	refused  bool // this user may not look for counters

	rules decode.Rules
}

func (b *probeDecoder) ask(q *Query, l *Tracker) {
	b.hit, b.rules = nil, q.Rules
	if b.held != "" { // the key exists: examine it
		if b.kin {
			b.more.AskSiblings(q.Ctx, q.Pipe)
			return
		}
		b.more = decode.AskProbe(q.Ctx, q.Pipe, library.Recognizer(), b.key, b.held, l.aim.rule.Names())
		return
	}
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.counters, b.exists = b.counters[:0], b.exists[:0]
	w := l.aim.rule.Span()
	if w <= 0 || b.refused {
		return
	}
	start := q.Now.Floor(w)
	for _, at := range [...]limiter.Instant{start, start.Add(-w)} {
		for _, f := range [...]decode.Found{
			{Own: limiter.SlidingWindow, Unit: time.Millisecond},
			{Own: limiter.FixedWindow, Unit: time.Millisecond},
			{Unit: time.Second},
			{Unit: time.Millisecond},
		} {
			f.Name, f.Type, f.Kind, f.Start, f.Sure = l.Name, "string", decode.Counter, at, true
			f.Key = (&counterDecoder{base: l.Name, own: f.Own, unit: f.Unit, window: w}).name(at)
			b.counters = append(b.counters, f)
			b.exists = append(b.exists, q.Pipe.Exists(q.Ctx, f.Key))
		}
	}
}

func (b *probeDecoder) take(now limiter.Instant, l *Tracker, _ *model.Reading) (again bool, err error) {
	if b.held != "" {
		if !b.kin && b.more.Read(now) {
			b.kin = true
			return true, nil
		}
		if b.more.Gone() {
			b.held, b.more, b.kin = "", nil, false
			l.key.typ, l.key.ttl = "none", 0
			return false, nil
		}
		f := b.more.Found(now)
		f.Name, f.Sure = l.Name, true
		if f.Match == nil {
			f.Evidence = model.Told
		}
		if f.Kind == decode.Counter {
			f.Kind = decode.Single // the user named the counter itself
		}
		b.hit, b.held, b.more, b.kin = &f, "", nil, false
		return true, nil // read again at once, by the decoder of its kind
	}
	typ, err := b.typ.Result()
	if err != nil {
		return false, err
	}
	if b.rules != nil {
		if own := b.rules.Named(b.key, typ, now); own != nil {
			f := own.Told(b.key, typ)
			f.Name, b.hit = l.Name, &f
			return true, nil
		}
	}
	if typ != "none" {
		b.held = typ
		return true, nil
	}
	l.key.typ, l.key.ttl = "none", 0
	for i, e := range b.exists {
		n, err := e.Result()
		b.refused = b.refused || connect.Code(err) == "NOPERM"
		if err == nil && n > 0 {
			b.hit = &b.counters[i]
			return true, nil
		}
	}
	return false, nil
}

// wrongDecoder watches a key whose value does not fit its rule, until its type changes.
type wrongDecoder struct {
	key  string
	typ  *redis.StatusCmd
	ttl  *redis.DurationCmd
	seen string // the type at the previous reading
}

func (b *wrongDecoder) ask(q *Query, _ *Tracker) {
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
}

func (b *wrongDecoder) take(_ limiter.Instant, l *Tracker, _ *model.Reading) (again bool, err error) {
	if err := cmp.Or(b.typ.Err(), b.ttl.Err()); err != nil {
		return false, err
	}
	exists := l.key.present(b.ttl.Val(), b.typ.Val())
	if !exists {
		l.look.wrong = ""
		l.notes.set(model.WrongType, false)
	}
	l.changed = l.changed || exists && b.seen != "" && b.seen != l.key.typ
	b.seen = l.key.typ
	return false, nil
}
