package feed

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// moment is an instant with a fraction of a microsecond, as this library writes it:
// "us" or "us:part:parts".
type moment struct {
	at          limiter.Instant
	part, parts int64
}

func parseMoment(s string) (moment, bool) {
	whole, rest, fraction := strings.Cut(s, ":")
	us, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || us < 0 || us >= 1<<53 {
		return moment{}, false
	}
	m := moment{at: limiter.Instant(us)}
	if !fraction {
		return m, true
	}
	part, parts, _ := strings.Cut(rest, ":")
	var perr, qerr error
	m.part, perr = strconv.ParseInt(part, 10, 64)
	m.parts, qerr = strconv.ParseInt(parts, 10, 64)
	if perr != nil || qerr != nil || m.part < 0 || m.parts <= m.part {
		return moment{}, false
	}
	return m, true
}

// Where TATs of other programs begin to count.
const epoch2017 = 1483228800 // redis_rate: seconds since 1 January 2017, UTC

// readTAT reads a string as a theoretical arrival time and says in what unit it is
// written; unit 0 is this library's own. A TAT lies in the future while its key lives,
// and its key expires with it, which tells it from any other number.
func readTAT(text string, now limiter.Instant, ttl time.Duration) (m moment, unit time.Duration, ok bool) {
	ends := now.Add(ttl)
	fits := func(at limiter.Instant) bool {
		return ttl > 0 && at.Sub(ends).Abs() <= tatSlack
	}
	if m, ok = parseMoment(text); ok && fits(m.at) {
		return m, 0, true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return moment{}, 0, false
	}
	if strings.ContainsAny(text, ".e") || v < 1e9 {
		if at := instantIn(v+epoch2017, time.Second); fits(at) {
			return moment{at: at}, time.Second, true
		}
	}
	if u := unitOf(v, now); u != 0 {
		if at := instantIn(v, u); fits(at) {
			return moment{at: at}, u, true
		}
	}
	return moment{}, 0, false
}

// tatSlack is how far a TAT and the expiry of its key may lie apart: expiries are often
// rounded up to whole seconds.
const tatSlack = 1500 * time.Millisecond

// valueBody reads an algorithm whose whole state is a value or two: GCRA in a string, a
// token or leaky bucket in a hash.
type valueBody struct {
	key   string
	field string // of a bucket: "tokens" or "level"; "" for GCRA

	value *redis.StringCmd
	pair  *redis.SliceCmd
	ttl   *redis.DurationCmd

	last  limiter.State
	known bool
}

func (b *valueBody) ask(q *query, _ *look) {
	b.ttl = q.pipe.PTTL(q.ctx, b.key)
	if b.field == "" {
		b.value = q.pipe.Get(q.ctx, b.key)
		return
	}
	b.pair = q.pipe.HMGet(q.ctx, b.key, b.field, "at")
}

func (b *valueBody) take(now limiter.Instant, l *look, r *model.Reading) (again bool, err error) {
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

func (b *valueBody) readString(now limiter.Instant, ttl time.Duration, l *look, s *limiter.State) error {
	text, err := b.value.Result()
	if err != nil && err != redis.Nil {
		return err
	}
	if !l.present(ttl, "string") || err == redis.Nil {
		return nil
	}
	m, unit, ok := readTAT(text, now, ttl)
	if !ok {
		l.wrong = "holds a string that is not a theoretical arrival time"
		return nil
	}
	l.target.Layout.Unit = unit
	s.TAT, s.Part, s.Parts = m.at, m.part, m.parts
	return nil
}

func (b *valueBody) readHash(ttl time.Duration, l *look, s *limiter.State) error {
	pair, err := b.pair.Result()
	if err != nil {
		return err
	}
	if !l.present(ttl, "hash") {
		return nil
	}
	level, ok := number(pair[0])
	text, _ := pair[1].(string)
	m, good := parseMoment(text)
	if !ok || !good {
		l.wrong = "holds a hash that is not a bucket: it needs the fields " + b.field + " and at"
		return nil
	}
	s.Level, s.Filled, s.Part, s.Parts = level, m.at, m.part, m.parts
	return nil
}

// number reads a field of a hash.
func number(v any) (float64, bool) {
	text, ok := v.(string)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && math.Abs(n) < 1<<53
}

// rise estimates what was charged since the reading before: how much more is used now
// than would be if nothing had come. It is exact while the key was never empty in
// between, and at least 1 when anything changed.
func (b *valueBody) rise(now limiter.Instant, l *look, s limiter.State) []model.Arrival {
	t := l.target
	if !b.known || l.since == 0 || !t.LimitKnown || t.Window <= 0 || s.TAT == 0 && s.Filled == 0 {
		return nil
	}
	if s.TAT == b.last.TAT && s.Part == b.last.Part && s.Level == b.last.Level && s.Filled == b.last.Filled {
		return nil
	}
	before := b.last.Peek(now, t.Limit, t.Convention, 0).Used
	after := s.Peek(now, t.Limit, t.Convention, 0).Used
	return []model.Arrival{{At: now, N: max(after-before, 1)}}
}

// hashFields are asked of a hash to see whether it is a bucket.
var hashFields = []string{"tokens", "level", "at"}

// bucketField tells which bucket the fields are of; "" when they are of none.
func bucketField(values []any) (field string, ok bool) {
	if len(values) < len(hashFields) {
		return "", false
	}
	text, _ := values[2].(string)
	if _, ok := parseMoment(text); !ok {
		return "", false
	}
	for i, name := range hashFields[:2] {
		if _, ok := number(values[i]); ok {
			return name, true
		}
	}
	return "", false
}
