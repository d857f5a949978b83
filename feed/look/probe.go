package look

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/shape"
	"ratescope/limiter"
	"ratescope/model"
)

// probeBody waits for a key that was asked for by name: it looks whether the key itself is
// there, and, where the window is known, whether counters of that name are.
type probeBody struct {
	key  string
	hit  *shape.Found
	typ  *redis.StatusCmd
	more shape.Probe
	held string

	counters []shape.Found
	exists   []*redis.IntCmd
}

func (b *probeBody) ask(q *Query, l *Look) {
	b.hit = nil
	if b.held != "" { // the second time: what does it hold?
		b.more = shape.AskProbe(q.Ctx, q.Pipe, b.key, b.held)
		return
	}
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.counters, b.exists = b.counters[:0], b.exists[:0]
	w := l.fixedWindow()
	if w <= 0 {
		return
	}
	limit := limiter.Limit{Window: w}
	start := q.Now.Floor(w)
	for _, at := range [...]limiter.Instant{start, start.Add(-w)} {
		for _, f := range [...]shape.Found{
			{Own: limiter.SlidingWindow, Unit: time.Millisecond},
			{Own: limiter.FixedWindow, Unit: time.Millisecond},
			{Unit: time.Second},
			{Unit: time.Millisecond},
		} {
			f.Name, f.Type, f.Kind, f.Start, f.Sure = l.Name, "string", shape.Counter, at, true
			a, layout := f.Own, limiter.Layout{}
			if a == limiter.Unknown {
				a, layout = limiter.FixedWindow, limiter.Layout{Unit: f.Unit, Suffixed: true}
			}
			f.Key = limiter.Keys(a, l.Name, limit, layout, at)[0]
			b.counters = append(b.counters, f)
			b.exists = append(b.exists, q.Pipe.Exists(q.Ctx, f.Key))
		}
	}
}

func (b *probeBody) take(now limiter.Instant, l *Look, _ *model.Reading) (again bool, err error) {
	if b.held != "" {
		if f, ok := b.more.Read(now); ok {
			f.Name, f.Sure = l.Name, true
			if f.Kind == shape.Counter {
				f.Kind = shape.Single // somebody means this very key
			}
			b.hit = &f
		}
		b.held = ""
		return true, nil // to be read by the body of its kind
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
		if n, err := e.Result(); err == nil && n > 0 {
			b.hit = &b.counters[i]
			return true, nil
		}
	}
	return false, nil
}

// wrongBody watches a key that holds what its rule does not speak of, until it holds
// something else.
type wrongBody struct {
	key  string
	rule limiter.Algorithm
	typ  *redis.StatusCmd
	ttl  *redis.DurationCmd
	seen string
}

func (b *wrongBody) ask(q *Query, _ *Look) {
	b.typ = q.Pipe.Type(q.Ctx, b.key)
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
}

func (b *wrongBody) take(_ limiter.Instant, l *Look, _ *model.Reading) (again bool, err error) {
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
