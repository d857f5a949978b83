package track

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
)

// counterDecoder reads a limiter that keeps one counter for each window: in the layout of
// ratescope's own library, {key}:fw:<ms> and {key}:sw:<ms>, or in the form that many articles
// show, prefix:resource:subject:<start>.
type counterDecoder struct {
	base   string            // the limiter's name
	own    limiter.Algorithm // of the own layout; Unknown for other names
	unit   time.Duration     // of the start in the names of other layouts
	starts []limiter.Instant // of windows whose counters discovery has found

	window  time.Duration
	values  map[limiter.Instant]int64 // latest values, by the start of their window
	watched limiter.Instant           // since when the counters have been read without a gap
	overlap bool                      // a counter lived as long as a sliding window needs it
	early   bool                      // a counter expires earlier than one that is named after its start

	asked []counterAsk
	many  *redis.SliceCmd // the values of all counters, where one command reads them
	alive bool            // the counter of the current window existed at the latest reading
	held  []string        // keys of the counters that existed then, oldest first; never changed
}

type counterAsk struct {
	start limiter.Instant
	name  string
	value *redis.StringCmd   // nil if one command reads all values
	ttl   *redis.DurationCmd // nil if the expiry was not asked for
}

// text returns the value of counter i; ok is false if the counter does not exist.
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
	text, ok = values[i].(string) // MGET returns nil for keys of other types too
	return text, ok, nil
}

// layout returns the form of the counters' names.
func (b *counterDecoder) layout() layout.Layout {
	if b.own != limiter.Unknown {
		return layout.Layout{}
	}
	return layout.Layout{Unit: b.unit, Suffixed: true}
}

// algorithm returns the algorithm by the names of the counters or, where these do not show it,
// by their expiries.
func (b *counterDecoder) algorithm() limiter.Algorithm {
	if b.own == limiter.Unknown && b.overlap {
		return limiter.SlidingWindow
	}
	return cmp.Or(b.own, limiter.FixedWindow)
}

// name returns the Redis key of the counter of a window.
func (b *counterDecoder) name(start limiter.Instant) string {
	limit := limiter.Limit{Window: b.window}
	return layout.Keys(cmp.Or(b.own, limiter.FixedWindow), b.base, limit, b.layout(), start)[0]
}

// meet notes the start of a window whose counter discovery has found; 0 is none.
func (b *counterDecoder) meet(start limiter.Instant) {
	const enough = 8
	if start == 0 || slices.Contains(b.starts, start) {
		return
	}
	if len(b.starts) >= enough {
		b.starts = slices.Delete(b.starts, 0, 1)
	}
	b.starts = append(b.starts, start)
}

// spacing returns the longest window that fits all known starts: their distances are multiples
// of it. It is 0 for fewer than two starts.
func (b *counterDecoder) spacing() time.Duration {
	var g time.Duration
	for _, start := range b.starts {
		for rest := start.Sub(b.starts[0]).Abs(); rest != 0; {
			g, rest = rest, g%rest
		}
	}
	return g
}

// infer guesses the window if the rule gives none: from the distances between the starts or,
// with a single start, as the longest usual window that begins there and agrees with the
// expiry, which is at most one window (fixed) or two (sliding) after the window's start.
func (b *counterDecoder) infer(now limiter.Instant, ttl time.Duration) time.Duration {
	if g := b.spacing(); g > 0 {
		return collect.If(g >= limiter.MinWindow && g <= limiter.MaxWindow, g, 0)
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
		switch {
		case start.Floor(w) != start, now.Sub(start) >= w: // such a window would be over
		// The own counters of a sliding window expire two windows after their first request,
		// which came at some point within their window.
		case b.own == limiter.SlidingWindow && ttl > 0 && (lives >= 3*w || lives < 2*w-2*time.Second):
		case ttl > 0 && (ttl > 2*w || lives < w-time.Second):
		default:
			return w
		}
	}
	return 0
}

func (b *counterDecoder) ask(q *Query, l *Tracker) {
	b.asked = b.asked[:0]
	b.window = l.aim.target.Window
	starts := b.starts
	switch {
	case b.window > 0:
		cur := q.Now.Floor(b.window)
		// The next window too: the server's clock may be past the edge already.
		starts = []limiter.Instant{cur.Add(-b.window), cur, cur.Add(b.window)}
	case len(starts) > 0:
		b.window = time.Millisecond // any window gives the names of known starts
		defer func() { b.window = 0 }()
	}
	b.many = nil
	together := !q.Slots || b.own != limiter.Unknown // own counters of one limiter share a slot
	names := make([]string, 0, len(starts))
	for i, s := range starts {
		name := b.name(s)
		names = append(names, name)
		a := counterAsk{start: s, name: name}
		if !together {
			a.value = q.Pipe.Get(q.Ctx, name)
		}
		// While the current counter exists, its expiry alone is enough.
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
		switch n, err := strconv.ParseInt(s, 10, 64); {
		case !ok:
		case err != nil || n < 0:
			garbage = true
		default:
			values[a.start] = n
		}
	}
	if l.key.typ = "none"; len(values) > 0 || garbage {
		l.key.typ = "string"
	}
	if l.look.wrong = ""; garbage {
		l.look.wrong = "holds a string that is not a count"
	}
	if err := b.takeTTL(now, l); err != nil {
		return false, err
	}
	if l.aim.target.Window == 0 {
		l.aim.guess(b.infer(now, l.key.ttl))
		if l.aim.target.Window > 0 {
			return true, nil
		}
	}
	r.Members = b.members(values)
	if b.window > 0 {
		b.tell(now, l, r, values)
	}
	return false, nil
}

// members returns the keys of the counters that exist: the same slice as at the previous
// reading while they are the same.
func (b *counterDecoder) members(values map[limiter.Instant]int64) []string {
	b.asked = slices.DeleteFunc(b.asked, func(a counterAsk) bool { _, ok := values[a.start]; return !ok })
	if !slices.EqualFunc(b.asked, b.held, func(a counterAsk, name string) bool { return a.name == name }) {
		b.held = collect.Map(b.asked, func(a counterAsk) string { return a.name })
	}
	return b.held
}

// takeTTL takes the expiry of the newest counter, and infers the algorithm from the expiries. A
// sliding window needs a counter until the end of the next window, so that the counter expires
// later than that. A counter of a fixed window never does, even if every request renews its
// expiry. A request sets the expiry to one window or several, and comes after the start of its window: a counter
// that expires earlier than so many windows after it is not named after a start.
func (b *counterDecoder) takeTTL(now limiter.Instant, l *Tracker) error {
	const slack = 5 * time.Millisecond // between the answers of PTTL and TIME
	if l.key.typ == "none" {
		l.key.ttl = 0
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
		l.key.ttl = ttl
		if ttl == -1 {
			l.key.ttl = model.Forever
			b.overlap = b.overlap || i == 0 && b.window > 0 && a.start.Add(b.window) <= now
		}
		if lives, w := now.Add(ttl).Sub(a.start), b.window; w > 0 && ttl > 0 {
			b.overlap = b.overlap || lives > 2*w+slack
			b.early = b.early || lives < (ttl+w-1).Truncate(w)-expirySlack
		}
	}
	return nil
}

// tell fills in the reading, with the arrivals since the previous one.
func (b *counterDecoder) tell(now limiter.Instant, l *Tracker, r *model.Reading, values map[limiter.Instant]int64) {
	w := b.window
	cur := now.Floor(w)
	prev := cur.Add(-w)
	if b.watched == 0 || l.since != 0 && now.Sub(l.since) > unwatched {
		b.watched = now
	}
	r.Arrivals = b.rises(now, l.since, values)
	if l.aim.given().Algorithm == limiter.Unknown {
		l.aim.target.Algorithm = b.algorithm()
		l.aim.target.Inferred = b.own == limiter.Unknown
	}
	previous, held := values[prev]
	remembered, seen := b.values[prev]
	if !held && seen && l.aim.target.Algorithm != limiter.SlidingWindow {
		previous = remembered // the counter expired at the end of its window
	}
	r.State.Start, r.State.PreviousStart = cur, prev
	r.State.Previous, r.State.Current = previous, values[cur]
	_, b.alive = values[cur]
	r.PreviousKnown = held || seen || b.watched < cur || b.algorithm() == limiter.SlidingWindow
	if b.own == limiter.Unknown {
		l.aim.target.Layout = b.layout()
	}
	if b.values = values; held || seen || b.watched < cur {
		b.values[prev] = previous
	}
	r.ExactKnown = false
}

// unwatched is the gap between two readings after which a key no longer counts as watched
// without a gap.
const unwatched = 2500 * time.Millisecond

// rises turns the differences between two readings into arrivals: at the instant of the
// reading or, if the window is over, at its end.
func (b *counterDecoder) rises(now, since limiter.Instant, values map[limiter.Instant]int64) []model.Arrival {
	if b.values == nil || since == 0 {
		return nil // it is unknown when the requests that were counted before came
	}
	var out []model.Arrival
	for _, a := range b.asked { // in order of time
		n, ok := values[a.start]
		before, seen := b.values[a.start] // before is above n where units were given back
		if ends := a.start.Add(b.window); ok && n > before && (seen || ends > since) {
			out = append(out, model.Arrival{At: max(min(now, ends-1), min(a.start, now)), N: n - before})
		}
	}
	return out
}
