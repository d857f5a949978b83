package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// probeDecoder waits for a key that was asked for by name: it looks whether the key itself is
// there, and, where the window is known, whether counters of that name are.
type probeDecoder struct {
	key  string
	hit  *decode.Found
	typ  *redis.StatusCmd
	more *decode.Probe // a first look at what the key holds; nil while only its type is asked
	held string
	kin  bool // the siblings of the key are asked, which have to agree

	counters []decode.Found
	exists   []*redis.IntCmd
	refused  bool // this user may not look for counters
}

func (b *probeDecoder) ask(q *Query, l *Tracker) {
	b.hit = nil
	if b.held != "" { // the second time: what does it hold?
		if b.kin {
			b.more.AskSiblings(q.Ctx, q.Pipe)
			return
		}
		b.more = decode.AskProbe(q.Ctx, q.Pipe, library.Recognizer, b.key, b.held, l.rule.Names())
		return
	}
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.counters, b.exists = b.counters[:0], b.exists[:0]
	w := l.fixedWindow()
	if w <= 0 || b.refused {
		return
	}
	limit := limiter.Limit{Window: w}
	start := q.Now.Floor(w)
	for _, at := range [...]limiter.Instant{start, start.Add(-w)} {
		for _, f := range [...]decode.Found{
			{Own: limiter.SlidingWindow, Unit: time.Millisecond},
			{Own: limiter.FixedWindow, Unit: time.Millisecond},
			{Unit: time.Second},
			{Unit: time.Millisecond},
		} {
			f.Name, f.Type, f.Kind, f.Start, f.Sure = l.Name, "string", decode.Counter, at, true
			a, form := f.Own, layout.Layout{}
			if a == limiter.Unknown {
				a, form = limiter.FixedWindow, layout.Layout{Unit: f.Unit, Suffixed: true}
			}
			f.Key = layout.Keys(a, l.Name, limit, form, at)[0]
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
		f := b.more.Found(now)
		f.Name, f.Sure = l.Name, true
		if f.Match == nil {
			f.Evidence = model.Told
		}
		if f.Kind == decode.Counter {
			f.Kind = decode.Single // this very key was asked for
		}
		b.hit, b.held, b.more, b.kin = &f, "", nil, false
		return true, nil // to be read by the decoder of its kind
	}
	typ, err := b.typ.Result()
	if err != nil {
		return false, err
	}
	if typ != "none" {
		b.held = typ
		return true, nil
	}
	l.typ, l.ttl = "none", 0
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

// wrongDecoder watches a key that holds what its rule does not speak of, until it holds
// something else.
type wrongDecoder struct {
	key  string
	rule limiter.Algorithm
	typ  *redis.StatusCmd
	ttl  *redis.DurationCmd
	seen string
}

func (b *wrongDecoder) ask(q *Query, _ *Tracker) {
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
}

func (b *wrongDecoder) take(_ limiter.Instant, l *Tracker, _ *model.Reading) (again bool, err error) {
	typ, err := b.typ.Result()
	if err != nil {
		return false, err
	}
	ttl, err := b.ttl.Result()
	if err != nil {
		return false, err
	}
	if !l.present(ttl, typ) {
		l.wrong = ""
		l.note(model.WrongType, false)
		return false, nil
	}
	l.changed = l.changed || b.seen != "" && b.seen != typ
	b.seen = typ
	return false, nil
}
