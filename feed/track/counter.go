package track

import (
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// counterDecoder reads a limiter that keeps one counter a window: its own layout
// {key}:fw:<ms> and {key}:sw:<ms>, or the articles' prefix:resource:subject:<start>.
type counterDecoder struct {
	base   string // the limiter's key
	own    limiter.Algorithm
	unit   time.Duration // of the start in a foreign name
	starts []limiter.Instant

	window  time.Duration
	values  map[limiter.Instant]int64 // as last read
	watched limiter.Instant           // since when the counters have been watched without a break
	overlap bool                      // a counter was seen to live as long as a weight needs it

	asked []counterAsk
	many  *redis.SliceCmd // the values of all that was asked, in one command
	alive bool            // the counter of the current window was there at the last reading
	held  []string        // the keys of the counters that were there then, oldest first; never changed
}

type counterAsk struct {
	start limiter.Instant
	name  string
	value *redis.StringCmd   // nil when the values come in one command
	ttl   *redis.DurationCmd // nil when it was not asked for
}

// text returns the value of counter i; ok is false when it does not exist.
func (b *counterDecoder) text(i int) (text string, ok bool, err error) {
	if b.many == nil {
		text, err = b.asked[i].value.Result()
		if err == redis.Nil {
			return "", false, nil
		}
		return text, err == nil, err
	}
	values, err := b.many.Result()
	if err != nil || i >= len(values) {
		return "", false, err
	}
	text, ok = values[i].(string) // nil too for a key of another type
	return text, ok, nil
}

// layout returns how the counters are named.
func (b *counterDecoder) layout() layout.Layout {
	if b.own != limiter.Unknown {
		return layout.Layout{}
	}
	return layout.Layout{Unit: b.unit, Suffixed: true}
}

// algorithm returns the algorithm that the names tell, else the one that the expiries show.
func (b *counterDecoder) algorithm() limiter.Algorithm {
	switch {
	case b.own != limiter.Unknown:
		return b.own
	case b.overlap:
		return limiter.SlidingWindow
	}
	return limiter.FixedWindow
}

// name returns the Redis key of the counter of a window.
func (b *counterDecoder) name(l *Tracker, start limiter.Instant) string {
	a := b.own
	if a == limiter.Unknown {
		a = limiter.FixedWindow
	}
	limit := limiter.Limit{Window: b.window}
	return layout.Keys(a, b.base, limit, b.layout(), start)[0]
}

// meet takes note of a counter that discovery found, and says whether it is news.
func (b *counterDecoder) meet(start limiter.Instant) {
	if start == 0 {
		return
	}
	const enough = 8
	for _, s := range b.starts {
		if s == start {
			return
		}
	}
	if len(b.starts) >= enough {
		b.starts = append(b.starts[:0], b.starts[1:]...)
	}
	b.starts = append(b.starts, start)
}

// spacing returns the greatest window of which all known starts are multiples apart.
func (b *counterDecoder) spacing() time.Duration {
	var g int64
	for i := 1; i < len(b.starts); i++ {
		g = gcd(g, int64(b.starts[i]-b.starts[0]))
	}
	return time.Duration(g) * time.Microsecond
}

func gcd(a, b int64) int64 {
	if b < 0 {
		b = -b
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// infer guesses the window where the rule gives none: from the distance between the
// starts; with one start alone, the longest usual window that begins there and that
// the expiry allows, which is at most one window (fixed) or two (sliding) after it.
func (b *counterDecoder) infer(now limiter.Instant, ttl time.Duration) time.Duration {
	if g := b.spacing(); g > 0 {
		return g
	}
	if len(b.starts) == 0 {
		return 0
	}
	start := b.starts[0]
	lives := now.Add(ttl).Sub(start) // from the start of the window to the expiry
	if b.own == limiter.FixedWindow && ttl > 0 {
		return decode.Tidy(lives)
	}
	for _, w := range decode.Nice {
		if start.Floor(w) != start {
			continue
		}
		// This library's counters of a sliding window live two windows from their first
		// request, which is somewhere in their own.
		if b.own == limiter.SlidingWindow && ttl > 0 && (lives >= 3*w || lives < 2*w-2*time.Second) {
			continue
		}
		switch {
		case now.Sub(start) >= w: // it is over, or it is not this window
			continue
		case ttl > 0 && (ttl > 2*w || lives < w-time.Second):
			continue
		}
		return w
	}
	return 0
}

func (b *counterDecoder) ask(q *Query, l *Tracker) {
	b.asked = b.asked[:0]
	b.window = l.target.Window
	starts := b.starts
	switch {
	case b.window > 0:
		cur := q.Now.Floor(b.window)
		// The next window too: the server's clock may be past the edge already.
		starts = []limiter.Instant{cur.Add(-b.window), cur, cur.Add(b.window)}
	case len(starts) > 0:
		b.window = time.Millisecond // the names of known starts need no window
		defer func() { b.window = 0 }()
	}
	b.many = nil
	together := !q.Slots || b.own != limiter.Unknown // names of this library share a slot
	names := make([]string, 0, len(starts))
	for i, s := range starts {
		name := b.name(l, s)
		names = append(names, name)
		a := counterAsk{start: s, name: name}
		if !together {
			a.value = q.Pipe.Get(q.Ctx, name)
		}
		// The expiry of the current counter tells all, while there is one.
		if known := b.alive && b.window > 0 && len(starts) == 3; q.Whole && (!known || i == 1) {
			a.ttl = q.Pipe.PTTL(q.Ctx, name)
		}
		b.asked = append(b.asked, a)
	}
	if together && len(names) > 0 {
		b.many = q.Pipe.MGet(q.Ctx, names...)
	}
}

func (b *counterDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	values := make(map[limiter.Instant]int64, len(b.asked))
	garbage := false
	for i, a := range b.asked {
		s, ok, err := b.text(i)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		n, perr := strconv.ParseInt(s, 10, 64)
		garbage = garbage || perr != nil || n < 0
		if perr == nil && n >= 0 {
			values[a.start] = n
		}
	}
	l.typ = "none"
	if len(values) > 0 || garbage {
		l.typ = "string"
	}
	if garbage {
		l.wrong = "holds a string that is not a count"
	} else {
		l.wrong = ""
	}
	if err := b.takeTTL(now, l); err != nil {
		return false, err
	}
	if l.target.Window == 0 {
		l.guess(b.infer(now, l.ttl))
		if l.target.Window > 0 {
			return true, nil
		}
	}
	if b.window > 0 {
		b.tell(now, l, r, values)
	}
	r.Members = b.members(values)
	return false, nil
}

// members returns the keys of the counters that are there: the same slice as at the reading before
// while they are the same.
func (b *counterDecoder) members(values map[limiter.Instant]int64) []string {
	b.asked = slices.DeleteFunc(b.asked, func(a counterAsk) bool { _, ok := values[a.start]; return !ok })
	if !slices.EqualFunc(b.asked, b.held, func(a counterAsk, name string) bool { return a.name == name }) {
		b.held = nil
		for _, a := range b.asked {
			b.held = append(b.held, a.name)
		}
	}
	return b.held
}

// takeTTL takes the expiry of the newest counter that exists, and what the expiries say
// about the algorithm. A weighted counter needs each window for as long as the one after
// it, so that its expiry lies beyond the end of that one; a fixed window's expiry, even
// where every request sets it anew, never does.
func (b *counterDecoder) takeTTL(now limiter.Instant, l *Tracker) error {
	const slack = 5 * time.Millisecond // between the answers of PTTL and TIME
	if l.typ == "none" {
		l.ttl = 0
	}
	for i, a := range b.asked {
		if a.ttl == nil {
			continue
		}
		ttl, err := a.ttl.Result()
		if err != nil {
			return err
		}
		if ttl == -2 {
			continue
		}
		l.ttl = ttl
		if ttl == -1 {
			l.ttl = model.Forever
			b.overlap = b.overlap || i == 0 && b.window > 0 && a.start.Add(b.window) <= now
		}
		if w := b.window; w > 0 && now.Add(ttl).Sub(a.start) > 2*w+slack {
			b.overlap = true
		}
	}
	return nil
}

// tell fills in the reading and works out what came since the one before.
func (b *counterDecoder) tell(now limiter.Instant, l *Tracker, r *model.Reading, values map[limiter.Instant]int64) {
	w := b.window
	cur := now.Floor(w)
	prev := cur.Add(-w)
	if b.watched == 0 || l.since != 0 && now.Sub(l.since) > unwatched {
		b.watched = now
	}
	r.Arrivals = b.rises(now, l.since, values)
	if l.rule == nil || l.rule.Algorithm == limiter.Unknown {
		l.target.Algorithm = b.algorithm()
		l.target.Inferred = b.own == limiter.Unknown
	}
	previous, held := values[prev]
	remembered, seen := b.values[prev]
	if !held && seen && l.target.Algorithm != limiter.SlidingWindow {
		previous = remembered // the server dropped it at the edge, and it counts no more
	}
	r.State.Start, r.State.PreviousStart = cur, prev
	r.State.Previous, r.State.Current = previous, values[cur]
	_, b.alive = values[cur]
	r.PreviousKnown = held || seen || b.watched < cur || b.algorithm() == limiter.SlidingWindow
	if b.own == limiter.Unknown {
		l.target.Layout = b.layout()
	}
	b.values = map[limiter.Instant]int64{prev: previous}
	for s, n := range values {
		b.values[s] = n
	}
	if !held && !seen && b.watched >= cur {
		delete(b.values, prev)
	}
	r.ExactKnown = false
}

// unwatched is how long a key may go unread and still count as having been watched.
const unwatched = 2500 * time.Millisecond

// rises turns the difference between two readings into arrivals: at the instant of the
// reading, or at the end of their window when that is over.
func (b *counterDecoder) rises(now, since limiter.Instant, values map[limiter.Instant]int64) []model.Arrival {
	if b.values == nil || since == 0 {
		return nil // the instants of the requests that are counted already are unknown
	}
	var out []model.Arrival
	for _, a := range b.asked { // in order of time
		n, ok := values[a.start]
		if !ok {
			continue
		}
		before, seen := b.values[a.start]
		if !seen && a.start.Add(b.window) <= since {
			continue
		}
		if n -= before; n < 0 {
			n += before // deleted and begun again
		}
		if n == 0 {
			continue
		}
		at := min(now, a.start.Add(b.window)-1)
		at = max(at, min(a.start, now))
		out = append(out, model.Arrival{At: at, N: n})
	}
	return out
}
