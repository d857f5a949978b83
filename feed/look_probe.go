package feed

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// probeBody waits for a key that was asked for by name: it looks whether the key itself is
// there, and, where the window is known, whether counters of that name are.
type probeBody struct {
	key  string
	hit  *found
	typ  *redis.StatusCmd
	more probe
	held string

	counters []found
	exists   []*redis.IntCmd
}

func (b *probeBody) ask(q *query, l *look) {
	b.hit = nil
	if b.held != "" { // the second time: what does it hold?
		b.more = askProbe(q.ctx, q.pipe, b.key, b.held)
		return
	}
	b.typ = q.pipe.Type(q.ctx, b.key)
	b.counters, b.exists = b.counters[:0], b.exists[:0]
	w := l.fixedWindow()
	if w <= 0 {
		return
	}
	limit := limiter.Limit{Window: w}
	start := q.now.Floor(w)
	for _, at := range [...]limiter.Instant{start, start.Add(-w)} {
		for _, f := range [...]found{
			{own: limiter.SlidingWindow, unit: time.Millisecond},
			{own: limiter.FixedWindow, unit: time.Millisecond},
			{unit: time.Second},
			{unit: time.Millisecond},
		} {
			f.name, f.typ, f.kind, f.start, f.sure = l.name, "string", kindCounter, at, true
			a, layout := f.own, limiter.Layout{}
			if a == limiter.Unknown {
				a, layout = limiter.FixedWindow, limiter.Layout{Unit: f.unit, Suffixed: true}
			}
			f.key = limiter.Keys(a, l.name, limit, layout, at)[0]
			b.counters = append(b.counters, f)
			b.exists = append(b.exists, q.pipe.Exists(q.ctx, f.key))
		}
	}
}

func (b *probeBody) take(now limiter.Instant, l *look, _ *model.Reading) (again bool, err error) {
	if b.held != "" {
		if f, ok := b.more.read(now); ok {
			f.name, f.sure = l.name, true
			if f.kind == kindCounter {
				f.kind = kindSingle // somebody means this very key
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

func (b *wrongBody) ask(q *query, _ *look) {
	b.typ = q.pipe.Type(q.ctx, b.key)
	b.ttl = q.pipe.PTTL(q.ctx, b.key)
}

func (b *wrongBody) take(_ limiter.Instant, l *look, _ *model.Reading) (again bool, err error) {
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
