package track

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/naming"
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
	state := limiter.State{Algorithm: l.aim.target.Algorithm}
	l.look.wrong = ""
	if b.field == "" {
		err = b.readString(now, ttl, l, &state)
	} else {
		err = b.readHash(ttl, l, &state)
	}
	if err != nil {
		return false, err
	}
	r.State = state
	if l.look.wrong == "" {
		r.Arrivals = b.rise(now, l, state)
		b.last, b.known = state, true
	}
	return false, nil
}

func (b *valueDecoder) readString(now limiter.Instant, ttl time.Duration, l *Tracker, s *limiter.State) error {
	if l.notes.set(model.WrongType, false); b.value.Err() != nil || !l.key.present(ttl, "string") {
		return b.value.Err()
	}
	text := b.value.Val()
	m, unit, ok := decode.ReadTAT(text, now, ttl)
	if !ok {
		l.look.wrong = decode.NoTAT(text, now, ttl)
		l.notes.set(model.WrongType, true)
		return nil
	}
	l.aim.target.Layout.Unit = unit
	s.TAT, s.Part, s.Parts = m.At, m.Part, m.Parts
	return nil
}

func (b *valueDecoder) readHash(ttl time.Duration, l *Tracker, s *limiter.State) error {
	if b.pair.Err() != nil || !l.key.present(ttl, "hash") {
		return b.pair.Err()
	}
	pair := append(b.pair.Val(), nil, nil) // a server that is not Redis may answer with too few values
	level, ok := decode.Number(pair[0])
	text, _ := pair[1].(string)
	m, good := decode.ParseMoment(text)
	if !ok || !good {
		l.look.wrong = "holds a hash that is not a bucket: it needs the fields " + b.field + " and at"
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
	t := l.aim.target
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
// is the instant of its stored level, in whole microseconds, because units that have leaked since then were charged
// too. For GCRA it is now, because its theoretical arrival time does not show when a request
// came.
func settled(s *limiter.State, since, now limiter.Instant) limiter.Instant {
	if s.Filled == 0 {
		return now
	}
	return min(max(s.Filled+limiter.Instant(min(s.Part, 1)), since), now)
}

// singleDecoder reads a window that begins with its first request: a string that counts
// requests, whose expiry is set when it is created and ends the window (INCR + EXPIRE).
type singleDecoder struct {
	key string
	// window is the one of now in the key's name, if there is one: it ends the window, and not the expiry.
	window naming.Window

	value *redis.StringCmd
	ttl   *redis.DurationCmd

	last  int64
	ends  limiter.Instant // end of the window at the latest reading; 0 for none
	known bool            // last and ends are valid
	// outlives is set when the time to the expiry has been longer than the window. It is kept,
	// because near its end such a counter looks like one that has just begun.
	outlives bool
	beyond   bool            // that by far, so that what else ends the window is not known
	first    limiter.Instant // the earliest end of the present window: later ones were set by requests in it
	fell     bool            // the count fell within a window: it is what is left
	rose     bool            // the count rose within a window: it is what was used
	high     bool            // the window had just begun when it was first seen, and counted much: it may be what is left

	blocked  bool // a key beside it is named as one that denies for longer
	timed    bool // a key beside it holds a time that is no start and no end of a window that its expiry ends
	bits     bool // it is stored as no command does that counts
	part     bool // its name continues that of a key of its rule that is no string
	full     bool // it counts its limit or more
	looked   limiter.Instant
	waits    bool // it was not looked beside it yet, which an answer to another limiter permits
	beside   *redis.IntCmd
	times    *redis.SliceCmd
	encoding *redis.StringCmd
	whole    *redis.StatusCmd // the type of the key whose name its name continues
	access   *Access
}

// lookBeside is how often keys are looked for beside a counter that has reached its limit or has such a key; of others it is once.
const lookBeside = 2 * time.Second

func (b *singleDecoder) ask(q *Query, l *Tracker) {
	b.beside, b.times, b.encoding, b.access = new(redis.IntCmd), new(redis.SliceCmd), nil, q.Beside
	due := b.looked == 0 || (b.full || b.blocked || b.timed) && q.Now.Sub(b.looked) >= lookBeside
	may, soon := false, false
	if due && l.plain() && !q.Slots {
		may, soon = b.access.may(q.Now)
	}
	if b.waits = soon && b.looked == 0; may {
		if blocks, times := config.Siblings(b.key, l.Found.Pattern, q.Now); blocks != nil {
			b.beside, b.times = q.Pipe.Exists(q.Ctx, blocks...), q.Pipe.MGet(q.Ctx, times...)
		}
		b.encoding, b.looked = q.Pipe.ObjectEncoding(q.Ctx, b.key), q.Now
		b.whole = q.Pipe.Type(q.Ctx, b.key[:max(strings.LastIndexAny(b.key, ":./|_-"), 0)])
	}
	b.value = q.Pipe.GetRange(q.Ctx, b.key, 0, decode.LongestNumber-1)
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
}

func (b *singleDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	if err := cmp.Or(b.ttl.Err(), b.value.Err()); err != nil {
		if b.encoding != nil {
			b.access.skip()
		}
		return false, err
	}
	l.look.wrong = ""
	var n int64
	if l.key.present(b.ttl.Val(), "string") {
		if n, err = strconv.ParseInt(b.value.Val(), 10, 64); err != nil || n < 0 {
			if l.look.wrong = "holds a string that is not a count"; n < 0 {
				l.inferred.Show(Sign{Pattern: l.Found.Pattern, Left: true}, now)
			}
			n = 0
		}
	}
	t, was := &l.aim.target, b.full
	if b.full = l.plain() && t.LimitKnown && n >= t.Limit.Count; b.waits || b.full && !was && b.encoding == nil {
		return true, nil // what stands beside it is looked at before it is told
	}
	b.tell(now, l, r, n)
	if b.encoding != nil {
		b.blocked = b.beside.Val() > 0
		b.timed = slices.ContainsFunc(b.times.Val(), func(v any) bool { return b.otherTime(v, now, l.aim.target.Window) })
		b.bits = b.encoding.Val() == "raw" // SETBIT and SETRANGE; what INCR and SET write is int or embstr
		of := b.whole.Val()
		rule := l.aim.rule
		b.part = (of == "list" || of == "set" || of == "zset") && rule.Narrow() && config.MatchGlob(rule.Match, b.whole.Args()[1].(string))
		if b.access.learn(b.beside.Err(), b.times.Err(), b.encoding.Err()) {
			b.looked = 0
		}
	}
	return false, nil
}

// plain reports whether a person has said that l is a limiter, and not how it is laid out.
func (l *Tracker) plain() bool {
	return l.Found.Evidence == model.Told && !l.aim.described()
}

// otherTime reports whether the value of a key beside a counter is a time, and neither that of its expiry nor that of a window before it.
func (b *singleDecoder) otherTime(v any, now limiter.Instant, window time.Duration) bool {
	const slack = 2 * time.Second // the clock of a program, and whole seconds
	n, _ := decode.Number(v)
	unit := decode.UnitOf(n, now)
	off := decode.InstantIn(n, unit).Sub(b.ends)
	return unit != 0 && off.Abs() > slack && (off+window).Abs() > slack
}

func (b *singleDecoder) tell(now limiter.Instant, l *Tracker, r *model.Reading, n int64) {
	l.aim.target.Convention.Alignment = convention.FirstRequest
	ends := limiter.Instant(0)
	if l.key.ttl > 0 { // the key is removed in the millisecond after its expiry
		ends = limiter.Instant(now.Millis() * 1000).Add(l.key.ttl + time.Millisecond)
	}
	// A later end alone is no new window: the key's owner may renew the expiry with every request,
	// and the server may have paused between its answers to PTTL and TIME.
	over := b.ends != 0 && now >= b.ends.Add(-futureAllowed) && ends.Sub(b.ends) > futureAllowed
	fresh := n < b.last || over
	falls := n < b.last && !over && b.known && l.key.ttl > 0 && ends.Sub(b.ends).Abs() <= futureAllowed
	b.fell = b.fell || falls
	b.rose = b.rose || n > b.last && !over && b.known && b.last > 0
	if w, most := l.aim.target.Window, l.aim.target.Limit.Count; l.aim.target.LimitKnown && (!b.known || fresh) {
		b.high = l.key.ttl > 0 && w-l.key.ttl < max(w/50, 250*time.Millisecond) && 5*n >= 4*most && n < most
	}
	if b.known && l.since != 0 {
		rise := n - b.last
		switch {
		case falls && b.rose: // something was given back
		case falls:
			rise = b.last - n
		case fresh:
			rise = n
			// A window that began since the previous reading shows its length, which is a little
			// more than the time to its expiry.
			if up := (l.key.ttl + time.Second - 1).Truncate(time.Second); up-l.key.ttl <= now.Sub(l.since) && b.window.To == 0 {
				l.aim.guess(up)
			}
		}
		if rise > 0 {
			r.Arrivals = []model.Arrival{{At: now, N: rise}}
		}
	}
	if fresh || b.first == 0 || ends < b.first {
		b.first = ends
	}
	b.last, b.ends, b.known = n, ends, true
	if b.window.To > 0 {
		r.State.Start = cmp.Or(b.window.Start, now)
		if r.State.Current = n; b.over(now) {
			r.State.Current = 0
		}
		return
	}
	w := l.aim.target.Window
	const slack = 5 * time.Millisecond // between the answers to PTTL and TIME
	switch {
	case w > 0 && l.key.ttl > w+slack:
		b.outlives, b.beyond = true, b.beyond || l.key.ttl > w+w/10+keptFor
	case fresh && now.Sub(l.since) < w: // a new window was watched from its start
		b.outlives, b.beyond = false, false
	}
	l.notes.set(model.Outlives, b.outlives || ends.Sub(b.first) > renewedBy)
	r.State.Current = n
	if r.State.Start = now; ends != 0 && w > 0 {
		r.State.Start = ends.Add(-w)
	}
}

// keptFor is how much longer than its window, and a tenth of it, a counter may be kept for the sake of clocks alone.
const keptFor = 2 * time.Second

// renewedBy is more than an expiry moves where nothing sets it anew, and the server pauses between its answers to PTTL and TIME.
const renewedBy = 500 * time.Millisecond

// over says whether the window of the key's name is.
func (b *singleDecoder) over(now limiter.Instant) bool {
	return b.window.End != 0 && now >= b.window.End
}
