package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// valueDecoder reads an algorithm whose state is one or two values: GCRA in a string, a token or
// leaky bucket in a hash.
type valueDecoder struct {
	key   string
	field string // a bucket's field, "tokens" or "level"; "" for GCRA

	value *redis.StringCmd
	pair  *redis.SliceCmd
	ttl   *redis.DurationCmd

	last  limiter.State
	known bool
}

func (b *valueDecoder) ask(q *Query, _ *Tracker) {
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
	if b.field == "" {
		b.value = q.Pipe.GetRange(q.Ctx, b.key, 0, decode.LongestNumber-1)
		return
	}
	b.pair = q.Pipe.HMGet(q.Ctx, b.key, b.field, "at")
}

func (b *valueDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	ttl, err := b.ttl.Result()
	if err != nil {
		return false, err
	}
	state := limiter.State{Algorithm: l.target.Algorithm}
	l.wrong = ""
	if b.field == "" {
		err = b.readString(now, ttl, l, &state)
	} else {
		err = b.readHash(ttl, l, &state)
	}
	if err != nil {
		return false, err
	}
	r.State = state
	if l.wrong == "" {
		r.Arrivals = b.rise(now, l, state)
		b.last, b.known = state, true
	}
	return false, nil
}

func (b *valueDecoder) readString(now limiter.Instant, ttl time.Duration, l *Tracker, s *limiter.State) error {
	text, err := b.value.Result()
	if err != nil {
		return err
	}
	l.note(model.WrongType, false)
	if !l.present(ttl, "string") {
		return nil
	}
	m, unit, ok := decode.ReadTAT(text, now, ttl)
	if !ok {
		l.wrong = decode.NoTAT(text, now, ttl)
		l.note(model.WrongType, true)
		return nil
	}
	l.target.Layout.Unit = unit
	s.TAT, s.Part, s.Parts = m.At, m.Part, m.Parts
	return nil
}

func (b *valueDecoder) readHash(ttl time.Duration, l *Tracker, s *limiter.State) error {
	pair, err := b.pair.Result()
	if err != nil {
		return err
	}
	if !l.present(ttl, "hash") {
		return nil
	}
	level, ok := decode.Number(pair[0])
	text, _ := pair[1].(string)
	m, good := decode.ParseMoment(text)
	if !ok || !good {
		l.wrong = "holds a hash that is not a bucket: it needs the fields " + b.field + " and at"
		return nil
	}
	s.Level, s.Filled, s.Part, s.Parts = level, m.At, m.Part, m.Parts
	return nil
}

// rise estimates the units charged since the previous reading: how much more is used than would
// be without a request. It is exact if the key was never empty in between, and at least 1 if
// anything changed. Units that leaked away before this reading are missed, so that it is a lower
// bound for a key that is often empty.
func (b *valueDecoder) rise(now limiter.Instant, l *Tracker, s limiter.State) []model.Arrival {
	t := l.target
	if !b.known || l.since == 0 || !t.LimitKnown || t.Window <= 0 || s.TAT == 0 && s.Filled == 0 {
		return nil
	}
	if s.TAT == b.last.TAT && s.Part == b.last.Part && s.Level == b.last.Level && s.Filled == b.last.Filled {
		return nil
	}
	at := settled(&s, l.since, now)
	before := b.last.Peek(at, t.Limit, t.Convention, 0).Used
	after := s.Peek(at, t.Limit, t.Convention, 0).Used
	return []model.Arrival{{At: now, N: max(after-before, 1)}}
}

// settled returns the instant at which two readings of a limiter are compared. For a bucket it
// is the instant of its stored level, because units that have leaked since then were charged
// too. For GCRA it is now, because its theoretical arrival time does not show when a request
// came.
func settled(s *limiter.State, since, now limiter.Instant) limiter.Instant {
	if s.Filled == 0 {
		return now
	}
	return min(max(s.Filled, since), now)
}
