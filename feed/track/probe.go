package track

import (
	"cmp"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
	"ratescope/model"
)

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
		b.more = decode.AskProbe(q.Ctx, q.Pipe, library.Recognizer(), b.key, b.held, l.rule.Names())
		return
	}
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.counters, b.exists = b.counters[:0], b.exists[:0]
	w := l.rule.Span()
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
	rule limiter.Algorithm
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
	typ := b.typ.Val()
	if !l.key.present(b.ttl.Val(), typ) {
		l.look.wrong = ""
		l.notes.set(model.WrongType, false)
		return false, nil
	}
	l.changed = l.changed || b.seen != "" && b.seen != typ
	b.seen = typ
	return false, nil
}
