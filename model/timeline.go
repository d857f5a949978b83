package model

import (
	"math"
	"slices"
	"time"

	"ratescope/limiter"
)

// BinsPerWindow is the number of bins in a window of a Timeline, its finest resolution. It has
// many divisors, so that a chart can join whole bins into columns at nearly any width, and a
// column never changes once its time has passed.
const BinsPerWindow = 240

const maxWindows = 12 // windows that a timeline holds

// A rough timeline, for a board that is not drawn, holds fewer windows in fewer bins. It takes 1 kB, a full one up
// to 10 kB. Its rates cover 23 to 24 twenty-fourths of a window.
const roughBins, roughWindows = 24, 2

// Bin holds the requests of a period. Counts are in units of cost.
type Bin struct {
	Admitted, Denied   int64
	InjectedAdmitted   int32 // requests fired from here, a part of Admitted
	InjectedDenied     int32 // requests fired from here, a part of Denied
	Used               int64 // the highest level of used units; valid if UsedKnown
	UsedKnown, Watched bool  // Watched: the source watched the key during the whole period
}

func (b *Bin) join(c *Bin) {
	b.Admitted += c.Admitted
	b.Denied += c.Denied
	b.InjectedAdmitted += c.InjectedAdmitted
	b.InjectedDenied += c.InjectedDenied
	b.Watched = b.Watched && c.Watched
	if c.UsedKnown && (!b.UsedKnown || c.Used > b.Used) {
		b.Used, b.UsedKnown = c.Used, true
	}
}

// Timeline is the recent past of one key, in bins that are aligned to the server's clock. It
// holds a bounded number of windows; periods without requests take no memory. The zero value is
// not ready: use NewTimeline. It is not safe for concurrent use.
type Timeline struct {
	window time.Duration
	micros int64 // the window in µs
	bins   int64 // bins in a window
	per    int64 // bins in a chunk
	reach  int64 // windows that are held
	seen   int64 // the newest bin that was watched
	first  int64 // the oldest bin that was watched

	newest *chunk   // the newest chunk; nil before the first write
	late   *chunk   // the older chunk that was last written to; nil for none
	past   []packed // all other chunks, by their number modulo the length; nil for none
	shared bool     // a frozen timeline shares past
}

// NewTimeline returns an empty timeline for a window of at least a microsecond.
func NewTimeline(window time.Duration) *Timeline {
	return newTimeline(window, BinsPerWindow, maxWindows)
}

// newTimeline returns an empty timeline with so many bins in a window, for reach windows.
func newTimeline(window time.Duration, bins, reach int64) *Timeline {
	return &Timeline{window: window, micros: max(int64(window/time.Microsecond), 1), bins: bins, per: min(bins, chunkBins),
		reach: reach, seen: math.MinInt64, first: math.MaxInt64}
}

// Freeze returns a copy of the timeline, which later writes to t do not change. The bins are
// shared until t is written to.
func (t *Timeline) Freeze() *Timeline {
	for _, c := range [...]*chunk{t.newest, t.late} {
		if c != nil && !c.shared { // a frozen timeline shares it, perhaps in another goroutine
			c.shared = true
		}
	}
	if !t.shared {
		t.shared = true
	}
	return new(*t)
}

// Window returns the window's length.
func (t *Timeline) Window() time.Duration { return t.window }

// Reach returns how far back a timeline reaches at least.
func (t *Timeline) Reach() time.Duration { return time.Duration(t.reach-1) * t.window }

// FirstColumn returns the number of the first column of `per` bins that was watched;
// math.MaxInt64 if none was.
func (t *Timeline) FirstColumn(per int) int64 {
	if t.first == math.MaxInt64 {
		return t.first
	}
	return FloorDiv(t.first, int64(per))
}

// Index returns the number of the bin that contains at. A clock-aligned window begins with every
// multiple of BinsPerWindow, or of roughBins in a rough timeline.
func (t *Timeline) Index(at limiter.Instant) int64 {
	return FloorDiv(int64(at)*t.bins, t.micros)
}

// Begin returns the first instant of bin i.
func (t *Timeline) Begin(i int64) limiter.Instant {
	return limiter.Instant(-FloorDiv(-i*t.micros, t.bins))
}

// FloorDiv returns a/b, rounded down. It panics if b is 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// chunkOf returns the number of the chunk that contains bin i. A full timeline divides by a
// constant, which is faster, because charts read every bin.
func (t *Timeline) chunkOf(i int64) int64 {
	if t.per == chunkBins {
		return FloorDiv(i, chunkBins)
	}
	return FloorDiv(i, t.per)
}

// holds reports whether the chunk of a number is neither too old nor too new for the timeline.
func (t *Timeline) holds(number int64) bool {
	if t.newest == nil || number > t.newest.number {
		return false
	}
	n := t.bins / t.per // chunks of a window
	return FloorDiv(number, n) > FloorDiv(t.newest.number, n)-t.reach
}

// slot returns the index in past for the chunk of a number.
func (t *Timeline) slot(number int64) int64 {
	n := int64(len(t.past))
	return (number%n + n) % n
}

// at returns bin i for writing, or nil if it is too old for the timeline. The bin is valid until
// the next call.
func (t *Timeline) at(i int64) *Bin {
	number := t.chunkOf(i)
	c := &t.newest
	switch {
	case t.newest == nil || number > t.newest.number:
		t.turn(number)
	case t.newest.number == number:
	case !t.holds(number):
		return nil
	default:
		c = &t.late
		if t.late == nil || t.late.number != number {
			t.late = t.begin(number)
			if t.past != nil {
				t.past[t.slot(number)].unpack(t.late.bins)
			}
		}
	}
	if (*c).shared {
		*c = &chunk{number: number, bins: slices.Clone((*c).bins)}
	}
	return &(*c).bins[i-number*t.per]
}

func (t *Timeline) turn(number int64) {
	was := t.newest
	t.newest = t.begin(number)
	if was == nil {
		return
	}
	t.late = was
	if t.past == nil {
		return
	}
	t.own()
	for n := max(was.number+1, number-int64(len(t.past))+1); n <= number; n++ { // these places hold chunks that are too old now
		t.past[t.slot(n)] = nil
	}
}

// begin packs the late chunk, and returns an empty chunk of a number.
func (t *Timeline) begin(number int64) *chunk {
	c := t.late
	if t.late = nil; c == nil {
		return &chunk{number: number, bins: make([]Bin, t.per)}
	}
	if t.holds(c.number) {
		if t.past == nil {
			t.past, t.shared = make([]packed, t.reach*t.bins/t.per), false
		}
		t.own()
		t.past[t.slot(c.number)] = pack(c.bins)
	}
	if c.shared {
		return &chunk{number: number, bins: make([]Bin, t.per)}
	}
	c.number = number
	clear(c.bins)
	return c
}

// own copies past if a frozen timeline shares it.
func (t *Timeline) own() {
	if t.shared {
		t.past, t.shared = slices.Clone(t.past), false
	}
}

// walk is an iteration over bins in their order. It is passed by value, so that the buffer of
// unpacked bins stays on the stack.
type walk struct {
	t      *Timeline
	number int64 // number of the present chunk
	bins   []Bin // bins of the present chunk; nil if it was never written to
	begun  bool
}

// at returns bin i for reading, valid until the next call; nil if its chunk was never written to.
func (w walk) at(i int64, buffer *[chunkBins]Bin) (walk, *Bin) {
	if number := w.t.chunkOf(i); !w.begun || number != w.number {
		w.begun, w.number = true, number
		w.bins = w.t.chunk(number, buffer[:w.t.per])
	}
	if w.bins == nil {
		return w, nil
	}
	return w, &w.bins[i-w.number*w.t.per]
}

// chunk returns the bins of a chunk, unpacked into buffer if they are packed; nil if the chunk was
// never written to.
func (t *Timeline) chunk(number int64, buffer []Bin) []Bin {
	switch {
	case !t.holds(number):
		return nil
	case t.newest.number == number:
		return t.newest.bins
	case t.late != nil && t.late.number == number:
		return t.late.bins
	case t.past == nil:
		return nil
	}
	p := t.past[t.slot(number)]
	if p == nil {
		return nil
	}
	p.unpack(buffer)
	return buffer
}

func (t *Timeline) peek(i int64) (b Bin) {
	var buffer [chunkBins]Bin
	if _, at := (walk{t: t}).at(i, &buffer); at != nil {
		b = *at
	}
	return b
}

// Arrive adds requests.
func (t *Timeline) Arrive(a Arrival) {
	b := t.at(t.Index(a.At))
	switch {
	case b == nil:
	case a.Denied:
		b.Denied += a.N
	default:
		b.Admitted += a.N
	}
}

// Mark notes that one request was fired from here. The request itself is added by Arrive, like
// any other.
func (t *Timeline) Mark(at limiter.Instant, denied bool) {
	b := t.at(t.Index(at))
	switch {
	case b == nil:
	case denied:
		b.InjectedDenied++
	default:
		b.InjectedAdmitted++
	}
}

// Watch notes that the source watched the key from since to at, and that the key's level was
// `used` at the end. With a since of 0 only the bin that contains at counts as watched.
func (t *Timeline) Watch(since, at limiter.Instant, used Count) {
	last := t.Index(at)
	first := last
	if since > 0 && since < at {
		first = max(t.Index(since), last-(t.reach-1)*t.bins)
	}
	t.seen, t.first = max(t.seen, last), min(t.first, first)
	for i := first; i <= last; i++ {
		b := t.at(i)
		if b == nil {
			continue
		}
		b.Watched = true
		switch {
		case !used.Known:
		case !b.UsedKnown:
			b.Used, b.UsedKnown = used.N, true
		case i > first || first == last:
			b.Used = max(b.Used, used.N)
		}
	}
}

// report returns the past in the form of a reading at now: since when the key was watched, the
// arrivals, and the levels.
func (t *Timeline) report(now limiter.Instant) (since limiter.Instant, arrivals []Arrival, trace []Level) {
	if t.first > t.seen {
		return 0, nil, nil
	}
	last := t.Index(now)
	from := max(t.first, last-(t.reach-1)*t.bins)
	var buffer [chunkBins]Bin
	var b *Bin
	w := walk{t: t}
	for i := from; i <= last; i++ {
		w, b = w.at(i, &buffer)
		if b == nil {
			continue
		}
		begin, end := t.Begin(i), min(t.Begin(i+1)-1, now)
		if b.Admitted > 0 {
			arrivals = append(arrivals, Arrival{At: begin, N: b.Admitted})
		}
		if b.Denied > 0 {
			arrivals = append(arrivals, Arrival{At: begin, N: b.Denied, Denied: true})
		}
		if b.UsedKnown && b.Watched && i < last {
			trace = append(trace, Level{Since: begin, At: end, Used: b.Used})
		}
	}
	return t.Begin(from), arrivals, trace[max(0, len(trace)-maxTrace):]
}

// Admitted returns the units admitted in the whole bins from since to at, and whether the source
// watched the key during all of that time.
func (t *Timeline) Admitted(since, at limiter.Instant) (n int64, watched bool) {
	first, last := t.Index(since)+1, t.Index(at)
	sum := t.join(first, last)
	watched = sum.Watched && first >= t.first && last <= t.seen
	if t.bins == roughBins { // the first bin may have been watched in part
		watched = watched && first > t.first
	}
	return sum.Admitted, watched
}

// Between returns the joined bins from one instant until before another.
func (t *Timeline) Between(from, to limiter.Instant) Bin {
	return t.join(t.Index(from), t.Index(max(from, to-1)))
}

func (t *Timeline) join(first, last int64) Bin {
	sum := Bin{Watched: true}
	var buffer [chunkBins]Bin
	for next := first; first <= last; first = next {
		number := t.chunkOf(first)
		begin := number * t.per
		next = begin + t.per
		bins := t.chunk(number, buffer[:t.per])
		if bins == nil { // none of them was written to
			sum.Watched = false
			continue
		}
		for i := first; i < min(next, last+1); i++ {
			sum.join(&bins[i-begin])
		}
	}
	return sum
}

// Columns joins `per` bins to a column and writes columns into dst, oldest first, the last of
// which has the number last; see Column. Columns that were never written to are empty and
// unwatched.
func (t *Timeline) Columns(dst []Bin, last int64, per int) {
	var buffer [chunkBins]Bin
	var b *Bin
	w := walk{t: t}
	for c := range dst {
		from := (last - int64(len(dst)-1-c)) * int64(per)
		sum := Bin{Watched: true}
		for k := range int64(per) {
			watched := sum.Watched
			if w, b = w.at(from+k, &buffer); b != nil {
				sum.join(b)
			}
			if from+k < t.first || from+k > t.seen { // what is still to come does not make a column unwatched
				sum.Watched = watched
			} else if b == nil {
				sum.Watched = false
			}
		}
		if column := from / int64(per); column < FloorDiv(t.first, int64(per)) || from > t.seen {
			sum.Watched = false
		}
		dst[c] = sum
	}
}

// Column returns the number of the column of `per` bins that contains at.
func (t *Timeline) Column(at limiter.Instant, per int) int64 {
	return FloorDiv(t.Index(at), int64(per))
}

// ColumnBegin returns the instant at which column c of `per` bins begins.
func (t *Timeline) ColumnBegin(c int64, per int) limiter.Instant { return t.Begin(c * int64(per)) }
