package model_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// windows are lengths from the shortest to a year, some of which no number of bins
// divides evenly.
var windows = []time.Duration{
	time.Millisecond, 7 * time.Millisecond, 250 * time.Millisecond, time.Second, 999_983 * time.Microsecond,
	10 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour,
}

// today is an instant as servers have it.
const today = limiter.Instant(1_795_000_000_123_456)

// binOf is the definition of a bin: the windows are cut at multiples of their length,
// and each into equal parts. It divides with whole numbers of any size.
func binOf(at limiter.Instant, window time.Duration) int64 {
	n := new(big.Int).Mul(big.NewInt(int64(at)), big.NewInt(model.BinsPerWindow))
	return new(big.Int).Div(n, big.NewInt(int64(window/time.Microsecond))).Int64() // Div is Euclidean: down for a positive divisor
}

func TestBinsKeepToTheClock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, w := range windows {
		tl := model.NewTimeline(w)
		micros := int64(w / time.Microsecond)
		for range 3000 {
			at := limiter.Instant(r.Int64N(4*int64(today)) - 2*int64(today))
			if r.IntN(3) == 0 { // close to an edge
				at = at.Floor(w) + limiter.Instant(r.IntN(5)-2)
			}
			i := tl.Index(at)
			if want := binOf(at, w); i != want {
				t.Fatalf("window %v: %d is in bin %d, want %d", w, at, i, want)
			}
			if begin, end := tl.Begin(i), tl.Begin(i+1); at < begin || at >= end {
				t.Fatalf("window %v: %d is in bin %d, which lasts from %d to %d", w, at, i, begin, end)
			}
			k := r.Int64N(2000) - 1000
			if got := tl.Begin(k * model.BinsPerWindow); int64(got) != k*micros {
				t.Fatalf("window %v: number %d begins at %d, want %d", w, k, got, k*micros)
			}
			per := 1 + r.IntN(600)
			if c := tl.Column(at, per); c*int64(per) > i || (c+1)*int64(per) <= i {
				t.Fatalf("window %v: bin %d is in column %d of %d", w, i, c, per)
			}
		}
	}
}

// happenings is the plain record that a Timeline is held against: what was in each bin.
type happenings struct {
	window      time.Duration
	bins        map[int64]model.Bin
	total       int64
	first, last int64 // bins that were watched
}

// note changes the bin that holds at.
func (h *happenings) note(at limiter.Instant, change func(*model.Bin)) {
	b := h.bins[binOf(at, h.window)]
	change(&b)
	h.bins[binOf(at, h.window)] = b
}

func (h *happenings) arrive(a model.Arrival) {
	h.total += a.N
	h.note(a.At, func(b *model.Bin) {
		if a.Denied {
			b.Denied += a.N
		} else {
			b.Admitted += a.N
		}
	})
}

func (h *happenings) mark(at limiter.Instant, denied bool) {
	h.note(at, func(b *model.Bin) {
		if denied {
			b.InjectedDenied++
		} else {
			b.InjectedAdmitted++
		}
	})
}

// watch covers the bins from since to at; of a since of 0 only the one that holds at.
func (h *happenings) watch(since, at limiter.Instant) {
	last := binOf(at, h.window)
	first := last
	if since != 0 {
		first = binOf(since, h.window)
	}
	h.first, h.last = min(h.first, first), max(h.last, last)
	for i := first; i <= last; i++ {
		b := h.bins[i]
		b.Watched = true
		h.bins[i] = b
	}
}

// column adds up what happened in a column. It was watched when all of its bins were
// that lie between the first and the last one ever watched.
func (h *happenings) column(c int64, per int) (sum model.Bin) {
	from, to := c*int64(per), (c+1)*int64(per)
	sum.Watched = to > h.first && from <= h.last
	for i := from; i < to; i++ {
		b := h.bins[i]
		sum.Admitted += b.Admitted
		sum.Denied += b.Denied
		sum.InjectedAdmitted += b.InjectedAdmitted
		sum.InjectedDenied += b.InjectedDenied
		if i >= h.first && i <= h.last {
			sum.Watched = sum.Watched && b.Watched
		}
	}
	return sum
}

// observe runs a random source on both for about so many windows, and calls seen after
// every reading.
func observe(r *rand.Rand, w time.Duration, length float64, seen func(tl *model.Timeline, h *happenings, now limiter.Instant)) {
	tl := model.NewTimeline(w)
	h := &happenings{window: w, bins: map[int64]model.Bin{}, first: math.MaxInt64, last: math.MinInt64}
	micros := int64(w / time.Microsecond)
	start := today + limiter.Instant(r.Int64N(micros))
	end := start + limiter.Instant(length*float64(micros))
	since := limiter.Instant(0)
	for now := start; now < end; now += limiter.Instant(1 + r.Int64N(micros/8+1)) {
		if since != 0 {
			if r.IntN(12) == 0 { // the program did not look for a while
				since = 0
				now += limiter.Instant(r.Int64N(micros))
			}
			from := max(since, now-limiter.Instant(micros/20))
			for range r.IntN(5) {
				a := model.Arrival{At: now - limiter.Instant(r.Int64N(max(int64(now-from), 1))), N: 1 + r.Int64N(9), Denied: r.IntN(3) == 0}
				tl.Arrive(a)
				h.arrive(a)
			}
			if r.IntN(4) == 0 {
				denied := r.IntN(2) == 0
				tl.Mark(now, denied)
				h.mark(now, denied)
			}
		}
		tl.Watch(since, now, model.Count{Known: true, N: r.Int64N(100)})
		h.watch(since, now)
		since = now
		seen(tl, h, now)
	}
}

// past returns the columns from the timeline's reach, or the first one watched, up to
// now, with the number of the first of them.
func past(tl *model.Timeline, now limiter.Instant, per int) (first int64, cols []model.Bin) {
	last := tl.Column(now, per)
	first = max(tl.Column(now.Add(-tl.Reach()), per)+1, min(tl.FirstColumn(per), last))
	cols = make([]model.Bin, last-first+1)
	tl.Columns(cols, last, per)
	return first, cols
}

func TestColumnsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, w := range windows {
		steps := 0
		observe(r, w, 14, func(tl *model.Timeline, h *happenings, now limiter.Instant) {
			if steps++; steps%9 != 0 {
				return
			}
			per := [...]int{1, 2, 3, 5, 7, 12, 40, 60, 240, 480, 960}[r.IntN(11)]
			first, cols := past(tl, now, per)
			for i := range cols {
				c := first + int64(i)
				got, want := cols[i], h.column(c, per)
				want.Used, want.UsedKnown = got.Used, got.UsedKnown // see TestABinKeepsTheHighestLevel
				if got != want {
					t.Fatalf("window %v, %d bins a column, column %d: %+v, want %+v", w, per, c, got, want)
				}
			}
			want := int64(math.Floor(float64(h.first) / float64(per)))
			if got := tl.FirstColumn(per); got != want {
				t.Fatalf("window %v: the first column of %d bins is %d, want %d", w, per, got, want)
			}
		})
		if steps < 50 {
			t.Fatalf("window %v was looked at only %d times", w, steps)
		}
	}
}

// TestColumnsStand holds that a column never changes once its time has passed, at any
// width, as long as the timeline reaches back to it.
func TestColumnsStand(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	pers := []int{1, 4, 7, 30, 48, 240, 960}
	for _, w := range windows {
		stood := map[[2]int64]model.Bin{} // by width and column
		held := 0
		observe(r, w, 16, func(tl *model.Timeline, _ *happenings, now limiter.Instant) {
			for _, per := range pers {
				first, cols := past(tl, now, per)
				for i, got := range cols {
					c := first + int64(i)
					if tl.ColumnBegin(c+1, per) > now {
						continue // still in the making
					}
					name := [2]int64{int64(per), c}
					was, known := stood[name]
					if known && was != got {
						t.Fatalf("window %v, %d bins a column: column %d was %+v and became %+v", w, per, c, was, got)
					}
					if known {
						held++
					}
					stood[name] = got
				}
			}
		})
		if held < 1000 {
			t.Fatalf("window %v: only %d columns were compared", w, held)
		}
	}
}

func TestColumnsAtAnyWidthHoldTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	observe(r, time.Minute, 8, func(tl *model.Timeline, h *happenings, now limiter.Instant) {
		for _, per := range []int{1, 6, 17, 240, 700} {
			// One column more at each end: columns need not begin where the record does.
			n := tl.Column(now, per) - tl.FirstColumn(per) + 3
			cols := make([]model.Bin, n)
			tl.Columns(cols, tl.Column(now, per)+1, per)
			var got int64
			for _, b := range cols {
				got += b.Admitted + b.Denied
			}
			if got != h.total {
				t.Fatalf("%d bins a column: %d units in all, want %d", per, got, h.total)
			}
		}
	})
}

func TestWhatIsTooOldChangesNothing(t *testing.T) {
	for _, w := range windows {
		tl := model.NewTimeline(w)
		micros := limiter.Instant(w / time.Microsecond)
		for at := today - 30*micros; at <= today; at += micros/3 + 1 {
			tl.Arrive(model.Arrival{At: at, N: 1})
			tl.Watch(at-micros/3-1, at, model.Count{Known: true, N: 3})
		}
		before := make([]model.Bin, 11*40)
		tl.Columns(before, tl.Column(today, 6), 6)
		for back := limiter.Instant(12); back < 60; back++ {
			old := today - back*micros
			tl.Arrive(model.Arrival{At: old, N: 1000})
			tl.Arrive(model.Arrival{At: old, N: 1000, Denied: true})
			tl.Mark(old, true)
			tl.Watch(0, old, model.Count{Known: true, N: 1 << 40})
		}
		after := make([]model.Bin, len(before))
		tl.Columns(after, tl.Column(today, 6), 6)
		if !slices.Equal(before, after) {
			t.Errorf("window %v: what is older than the timeline reaches showed up in it", w)
		}
	}
}

func TestBeforeTheEpoch(t *testing.T) {
	w := 10 * time.Second
	for _, at := range []limiter.Instant{-1, -5_000_000, -10_000_000, -10_000_001, 0, 1} {
		tl := model.NewTimeline(w)
		tl.Arrive(model.Arrival{At: at, N: 7})
		tl.Watch(0, at, model.Count{})
		one := make([]model.Bin, 1)
		for _, per := range []int{1, 7, 240} {
			tl.Columns(one, tl.Column(at, per), per)
			if one[0].Admitted != 7 || !one[0].Watched {
				t.Errorf("at %d with %d bins a column: %+v", at, per, one[0])
			}
			if got, want := tl.FirstColumn(per), tl.Column(at, per); got != want {
				t.Errorf("at %d: the first column of %d bins is %d, want %d", at, per, got, want)
			}
		}
	}
}

func TestAnEmptyTimeline(t *testing.T) {
	tl := model.NewTimeline(time.Second)
	cols := make([]model.Bin, 9)
	tl.Columns(cols, 5, 2)
	for _, b := range cols {
		if b != (model.Bin{}) {
			t.Fatalf("an empty timeline holds %+v", b)
		}
	}
	tl.Columns(nil, 5, 2)
	if got := tl.FirstColumn(4); got != math.MaxInt64 {
		t.Errorf("an empty timeline begins at column %d", got)
	}
	if tl.Window() != time.Second || tl.Reach() < 2*time.Second {
		t.Errorf("it is %v long and reaches back %v: two windows are shown", tl.Window(), tl.Reach())
	}
}

func TestABinKeepsTheHighestLevel(t *testing.T) {
	tl := model.NewTimeline(time.Hour) // a bin is 15 s
	at := today.Floor(time.Hour)
	since := limiter.Instant(0)
	for _, used := range []int64{3, 9, 4, 0} {
		at = at.Add(time.Second)
		tl.Watch(since, at, model.Count{Known: true, N: used})
		since = at
	}
	one := make([]model.Bin, 1)
	if tl.Columns(one, tl.Column(at, 1), 1); one[0].Used != 9 || !one[0].UsedKnown {
		t.Errorf("the level went 3, 9, 4, 0 and the bin says %d", one[0].Used)
	}
	tl.Watch(since, at.Add(30*time.Second), model.Count{Known: true, N: 2})
	if tl.Columns(one, tl.Column(at, 1), 1); one[0].Used != 9 {
		t.Errorf("a later level made the bin say %d", one[0].Used)
	}
	if tl.Columns(one, tl.Column(at, 1)+1, 1); one[0].Used != 2 {
		t.Errorf("the bin after it says %d, want the level of the reading that ends it, 2", one[0].Used)
	}
}

// TestAWindowTooShortForTheClock keeps a source that says nonsense from dividing by
// zero.
func TestAWindowTooShortForTheClock(t *testing.T) {
	tl := model.NewTimeline(time.Nanosecond)
	tl.Arrive(model.Arrival{At: today, N: 1})
	tl.Watch(today-5, today, model.Count{Known: true, N: 1})
	tl.Columns(make([]model.Bin, 3), tl.Column(today, 1), 1)
}

func TestAFrozenTimelineStands(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	w := time.Second
	type still struct {
		tl    *model.Timeline
		now   limiter.Instant
		first int64
		cols  []model.Bin
	}
	var frozen []still
	observe(r, w, 60, func(tl *model.Timeline, _ *happenings, now limiter.Instant) {
		for _, s := range frozen {
			first, cols := past(s.tl, s.now, 7)
			if first != s.first || !slices.Equal(cols, s.cols) {
				t.Fatalf("what was frozen %v ago changed", now.Sub(s.now))
			}
		}
		if r.IntN(60) == 0 {
			s := still{tl: tl.Freeze(), now: now}
			s.first, s.cols = past(s.tl, now, 7)
			if first, cols := past(tl, now, 7); first != s.first || !slices.Equal(cols, s.cols) {
				t.Fatal("what was frozen is not what was there")
			}
			frozen = append(frozen, s)
		}
	})
	if len(frozen) < 5 {
		t.Fatalf("only %d were frozen", len(frozen))
	}
}

// TestARoughBoardHasTheRates: a board that keeps little of the past has the rates of one that
// keeps all, but for a part of a window, and says no more of what was not watched.
func TestARoughBoardHasTheRates(t *testing.T) {
	begin := limiter.InstantOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	var full model.Board
	rough := model.Board{Rough: true}
	known, early := 0, 0
	for i := range 2000 { // 16 windows, with a break in the middle
		at := begin.Add(time.Duration(i) * 500 * time.Millisecond)
		r := model.Reading{
			Key: "a", Type: "string", At: at, Since: at.Add(-500 * time.Millisecond), TTL: time.Minute,
			Target:   model.Target{Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 100, Window: time.Minute}, Window: time.Minute, LimitKnown: true, Evidence: model.Known},
			State:    limiter.State{Algorithm: limiter.GCRA, TAT: at.Add(time.Second)},
			Arrivals: []model.Arrival{{At: at, N: int64(i/200%3 + 1)}},
		}
		switch {
		case i > 1000 && i < 1020:
			continue
		case i == 1020:
			r.Since = 0
		}
		b := model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}
		full.Apply(b)
		rough.Apply(b)
		want, got := full.Key("a").Gauge, rough.Key("a").Gauge
		if got.Rate > want.Rate*1.1 || got.Rate < want.Rate*0.9 {
			t.Fatalf("after %v the rate is %v %v, want about %v %v", at.Sub(begin), got.Rate, got.RateKnown, want.Rate, want.RateKnown)
		}
		if got.RateKnown {
			known++
		}
		if got.RateKnown && !want.RateKnown {
			early++
		}
	}
	if known < 1000 || early > 2*5 { // twice a part of the window, which is 2.5 s
		t.Errorf("the rate was known %d times, %d of them too early", known, early)
	}
	if reach := rough.Key("a").Timeline.Reach(); reach != time.Minute {
		t.Errorf("it reaches back %v", reach)
	}
}
