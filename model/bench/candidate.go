package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// Candidate is an algorithm with everything in which implementations of it differ.
type Candidate struct {
	Algorithm limiter.Algorithm
	Limit     limiter.Limit
	Terms     limiter.Convention
	Grain     time.Duration // its clock shows multiples of this alone; 0 is microseconds
	Renewed   bool          // a fixed window that ends one window after the last request, not the first
	Block     time.Duration // all are denied for so long after a denial; 0 is not at all
	Extended  bool          // a request during a block begins it anew
	After     int64         // denials that begin a block; 0 is each one
	Within    time.Duration // from the first on for which they are counted; 0 is the window in which they are charged
	Recent    bool          // they are from the last one on
	Beside    *Candidate    // another limit that has to admit too; nil is none
}

// Bound is the most that the algorithm admits in a window of w, whatever the traffic.
func (c Candidate) Bound(l limiter.Limit) int64 {
	switch c.Algorithm {
	case limiter.SlidingLog, limiter.StreamCounter:
		return l.Count
	case limiter.FixedWindow:
		if c.Terms.Alignment == convention.FirstRequest {
			return 2*l.Count - 1
		}
	case limiter.SlidingWindow:
		if c.Terms.Rounding == convention.Exact && c.Terms.Rule == convention.Fits {
			return 2*l.Count - 1
		}
	case limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket:
		return l.Count + max(l.Count, c.Limit.Burst)
	}
	return 2 * l.Count
}

// measured is what a few experiments say of a limiter before candidates are made.
type measured struct {
	capacity int64         // admitted at once by a new key
	endless  bool          // no denial was seen
	first    time.Duration // after which one is admitted again; 0 where none was
	back     int64         // how many then
	all      time.Duration // after which all are; 0 where that was not seen
	block    time.Duration // for which a denial keeps all others out; 0 where it does not
	after    int64         // denials that bring a block about, where one does not; 0 where none was seen
	expiries []time.Duration
}

// candidates are the limiters that may behave as measured.
func candidates(l limiter.Limit, m measured) []Candidate {
	var all []Candidate
	add := func(c Candidate) {
		if c.Limit.Validate() == nil && c.Limit.Count > 0 && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	w, n := l.Window, m.capacity
	windows := []time.Duration{w, 1000 * w, w / 1000, 2 * w, w / 2, m.first.Round(time.Second),
		(m.first - time.Second).Round(time.Second),
		m.first, m.first - time.Millisecond, m.all, m.all - time.Millisecond, m.all / 2}
	for _, grain := range []time.Duration{0, time.Second} {
		for i, window := range windows {
			if window < limiter.MinWindow || slices.Contains(windows[:i], window) {
				continue
			}
			limit := limiter.Limit{Count: n, Window: window}
			for _, align := range []convention.Alignment{convention.Epoch, convention.FirstRequest} {
				for _, denied := range []convention.Denied{convention.Free, convention.Charged} {
					add(Candidate{Algorithm: limiter.FixedWindow, Limit: limit,
						Terms: limiter.Convention{Alignment: align, Denied: denied}, Grain: grain})
					for _, rounding := range []convention.Rounding{convention.Exact, convention.Floor, convention.Nearest} {
						for _, rule := range []convention.Rule{convention.Fits, convention.Below} {
							add(Candidate{Algorithm: limiter.SlidingWindow, Limit: limit, Grain: grain,
								Terms: limiter.Convention{Alignment: align, Denied: denied, Rounding: rounding, Rule: rule}})
						}
					}
				}
			}
			for _, denied := range []convention.Denied{convention.Free, convention.Charged} {
				for _, edge := range []convention.Edge{convention.HalfOpen, convention.Closed} {
					add(Candidate{Algorithm: limiter.SlidingLog, Limit: limit,
						Terms: limiter.Convention{Edge: edge, Denied: denied}, Grain: grain})
				}
				add(Candidate{Algorithm: limiter.FixedWindow, Limit: limit, Grain: grain, Renewed: true,
					Terms: limiter.Convention{Denied: denied, Alignment: convention.FirstRequest}})
			}
		}
		if grain == 0 { // a window of slices counts each to its end, as a log whose clock shows their beginnings
			for _, slices := range []time.Duration{2, 3, 4, 5, 6, 10, 12, 20, 60} {
				add(Candidate{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: n, Window: w}, Grain: w / slices})
			}
		}
		for _, rate := range []limiter.Limit{{Count: l.Count, Window: w}, {Count: n, Window: w}, {Count: m.back, Window: m.first},
			{Count: 1, Window: m.first - time.Millisecond}, {Count: n, Window: m.all}, {Count: l.Count, Window: 1000 * w}, {Count: 1,
				Window: (w / time.Duration(l.Count)).Truncate(time.Millisecond)}} {
			rate.Burst = n
			add(Candidate{Algorithm: limiter.GCRA, Limit: rate, Grain: grain})
			add(Candidate{Algorithm: limiter.GCRA, Limit: rate, Terms: limiter.Convention{Denied: convention.Charged}, Grain: grain})
			add(Candidate{Algorithm: limiter.TokenBucket, Limit: rate,
				Terms: limiter.Convention{Refill: convention.Interval}, Grain: grain})
		}
	}
	if m.block > 0 {
		for _, c := range slices.Clone(all) {
			usual := m.after > 0 && c.Grain == 0 || c.Algorithm == limiter.FixedWindow || c.Algorithm == limiter.SlidingLog
			if c.Limit.Window == w && !c.Renewed && usual {
				for _, c.Extended = range []bool{false, m.after == 0} {
					c.Block, c.After = m.block, m.after
					for _, c.Within = range append([]time.Duration{0, w, m.block}, m.expiries...) {
						for _, c.Recent = range []bool{false, c.Within > 0} {
							add(c)
						}
					}
				}
			}
		}
	}
	return all
}

// trial is traffic that was sent, and what was admitted of each step.
type trial struct {
	steps    []Step
	admitted []int64
}

// identifier narrows the candidates down.
type identifier struct {
	player
	store   Store // nil where nothing can be looked at
	limit   limiter.Limit
	m       measured
	left    []Candidate
	against []Against // of the algorithms that are not left
	trials  []trial
	random  *rand.Rand
	cutOff  bool              // the traffic of the worst window was
	stored  limiter.Algorithm // of which what is stored is typical; 0 where that is not known
	gaps    []time.Duration   // between steps, around everything that limiters compare with
	fewest  int64             // requests of a made up traffic at the most; 0 is no bound
	pace    pace              // of which a limit beside the one that is identified admits all
}

// uneven is an instant that no window of the clock begins at.
func (b *identifier) uneven() time.Duration {
	const phase = 370 * time.Millisecond
	begin := (b.limit.Window / 8).Truncate(time.Millisecond) + phase%max(b.limit.Window/4, 1)
	return max(begin.Truncate(time.Millisecond), time.Millisecond)
}

// measure finds out how much is admitted at once, and when it comes back.
func (b *identifier) measure(begin time.Duration) error {
	b.m = measured{}
	most := b.burst()
	got, err := b.play([]Step{{At: begin, N: most}})
	if err != nil {
		return err
	}
	b.m.capacity, b.m.endless = got[0], got[0] >= most
	if b.store != nil {
		keys, err := b.store.Keys()
		if err != nil {
			return err
		}
		for _, k := range keys {
			if k.Expires > 0 {
				b.m.expiries = append(b.m.expiries, k.Expires)
			}
		}
	}
	if b.m.endless || b.m.capacity == 0 {
		return nil
	}
	back := func(d time.Duration) (int64, error) {
		got, err := b.play([]Step{{At: begin, N: b.m.capacity}, {At: begin + d, N: b.m.capacity}})
		return sum(got) - b.m.capacity, err
	}
	w := b.limit.Window
	share := w / time.Duration(b.m.capacity)
	hints := []time.Duration{w, w + time.Millisecond, w - begin, share, share + time.Millisecond}
	least := func(n int64) func(time.Duration) (bool, error) {
		return func(d time.Duration) (bool, error) { got, err := back(d); return got >= n, err }
	}
	if b.m.first, err = earliest(w, hints, least(1)); err != nil || b.m.first == 0 {
		return err
	}
	if b.m.back, err = back(b.m.first); err != nil {
		return err
	}
	whole := b.m.first * time.Duration((b.m.capacity+b.m.back-1)/max(b.m.back, 1))
	hints = []time.Duration{b.m.first, b.m.first + time.Millisecond, whole, whole + time.Millisecond, w, w + 2*time.Millisecond}
	if b.m.all, err = earliest(w, hints, least(b.m.capacity)); err != nil {
		return err
	}
	// A denial half way to when one is admitted again puts that off where it blocks.
	denied := (min(b.m.first, w) / 2).Truncate(time.Millisecond)
	hints = []time.Duration{b.m.first, denied + w, denied + 2*w}
	again, err := earliest(w, hints, func(d time.Duration) (bool, error) {
		steps := []Step{{At: begin, N: b.m.capacity}, {At: begin + denied, N: 1}, {At: begin + d, N: 1}}
		if d <= denied {
			return false, nil
		}
		got, err := b.play(steps)
		return err == nil && got[2] > 0, err
	})
	switch {
	case again == 0:
		b.m.block = Forever
	case again > b.m.first+w/5:
		b.m.block = again - denied
	case err == nil:
		err = b.bans(begin)
	}
	return err
}

// Forever is a block of which no end was seen.
const Forever = time.Duration(math.MaxInt64 / 2)

// burst is how many requests are sent at once to find out how many are admitted.
func (b *identifier) burst() int64 { return 2*b.limit.Count + 16 }

// earliest finds the shortest wait, in whole milliseconds, after which something holds that holds ever after;
// 0 where it does not within a thousand windows of w. Hints are waits that it may well be.
func earliest(w time.Duration, hints []time.Duration, holds func(time.Duration) (bool, error)) (time.Duration, error) {
	low, high := time.Duration(0), time.Duration(0)
	try := func(d time.Duration) (err error) {
		d = max(d.Truncate(time.Millisecond), time.Millisecond)
		if d <= low || high > 0 && d >= high {
			return nil
		}
		ok, err := holds(d)
		if ok {
			high = d
		} else {
			low = d
		}
		return err
	}
	for _, d := range append(near(hints...), w/64, w/4, w, 2*w+time.Second, 30*w, 2100*w) {
		if err := try(d); err != nil {
			return 0, err
		}
	}
	for high-low > time.Millisecond {
		if err := try((low + high) / 2); err != nil {
			return 0, err
		}
	}
	return high, nil
}

// near lists an instant and those a millisecond beside it.
func near(list ...time.Duration) (all []time.Duration) {
	for _, d := range list {
		for _, e := range []time.Duration{d - time.Millisecond, d, d + time.Millisecond} {
			if e = e.Truncate(time.Millisecond); e > 0 && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

func (b *identifier) traffic() []Step {
	w, n := b.limit.Window, max(b.m.capacity, 1)
	phases := []time.Duration{0, w / 4, w / 2, w - time.Millisecond, time.Duration(b.random.Int64N(int64(w)))}
	at := phases[b.random.IntN(len(phases))].Truncate(time.Millisecond)
	sizes := []int64{1, 1, 1, 2, n / 2, n, n, n + 2}
	var steps []Step
	if b.random.IntN(3) == 0 { // a client that asks again and again
		gaps := []time.Duration{w / 20, w / time.Duration(2*n), w / time.Duration(n), 3 * w / time.Duration(2*n), w / 3}
		gap := max(gaps[b.random.IntN(len(gaps))].Truncate(time.Millisecond), time.Millisecond)
		steps = append(steps, Step{At: at, N: max(sizes[b.random.IntN(len(sizes))], 1)})
		for range 10 + b.random.IntN(30) {
			at += gap
			steps = append(steps, Step{At: at, N: 1})
		}
		return b.fit(steps)
	}
	for range 3 + b.random.IntN(6) {
		steps = append(steps, Step{At: at, N: max(sizes[b.random.IntN(len(sizes))], 1)})
		gap := b.gaps[b.random.IntN(len(b.gaps))]
		if b.random.IntN(4) == 0 {
			gap = time.Duration(b.random.Int64N(int64(w + w/4)))
		}
		at += max(gap.Truncate(time.Millisecond), time.Millisecond)
	}
	return b.fit(steps)
}

// fit cuts made up traffic off at the fewest requests, and spreads it by the pace.
func (b *identifier) fit(steps []Step) []Step {
	for i, sofar := 0, int64(0); i < len(steps) && b.fewest > 0; i++ {
		if sofar += steps[i].N; sofar > b.fewest {
			steps = steps[:max(i, 1)]
		}
	}
	if b.pace.n > 0 && b.random.IntN(3) == 0 { // the limit beside denies some of each burst
		var bursts []Step
		for i := range b.m.capacity/b.pace.n + 4 {
			bursts = append(bursts, Step{At: steps[0].At + time.Duration(i)*b.pace.every, N: b.pace.n + 1 + b.random.Int64N(3)})
		}
		return bursts
	}
	if b.m.after == 0 || b.random.IntN(2) == 0 {
		return b.pace.spread(steps)
	}
	var all []Step // denials about as many as bring a block about
	for _, s := range steps {
		if all = append(all, s); b.random.IntN(3) == 0 {
			all = append(all, Step{At: s.At, N: b.m.capacity})
			all = append(all, slices.Repeat([]Step{{At: s.At, N: 1}}, b.random.IntN(int(b.m.after)+3))...)
		}
	}
	return all
}

func (p *player) answers(c Candidate, steps []Step) []int64 {
	p = &player{subject: c.Subject(), zero: p.zero, spread: p.spread, cap: p.cap}
	got, _ := p.play(steps)
	return got
}

// parting makes up traffic that two of the candidates that are left answer differently; nil where it finds none.
func (b *identifier) parting() []Step {
	pair := b.random.Perm(len(b.left))
	x, y := b.left[pair[0]], b.left[pair[1]]
	for range tries {
		if steps := b.traffic(); !slices.Equal(b.answers(x, steps), b.answers(y, steps)) {
			return steps
		}
	}
	return nil
}

// Effort of an identification.
const (
	tries     = 16 // traffics made up to tell two candidates apart
	fruitless = 24 // pairs that none tells apart, after which those that are left count as alike
	proofs    = 16 // further traffics that the last one has to predict
	leastTold = 24 // traffics in all, at least
)

// try sends traffic and drops the candidates that would have answered otherwise.
func (b *identifier) try(steps []Step) error {
	got, err := b.play(steps)
	if err != nil {
		return err
	}
	b.trials = append(b.trials, trial{steps, got})
	b.left = slices.DeleteFunc(b.left, func(c Candidate) bool { return b.speaks(c, steps, got) })
	return nil
}

// compare sets the gaps around what was measured.
func (b *identifier) compare() {
	b.gaps = near(b.limit.Window, b.limit.Window/2, b.limit.Window/time.Duration(b.limit.Count), time.Second, 2*b.limit.Window,
		b.m.first, b.m.all, b.m.block, b.limit.Window/10)
	b.gaps = append(b.gaps, near(b.m.expiries...)...)
	b.gaps = slices.DeleteFunc(b.gaps, func(d time.Duration) bool {
		return d > 4*b.limit.Window && d != b.m.first && (d != b.m.block || d == Forever)
	})
}

// identify names the limiter, which may be any of all.
func (b *identifier) identify(all []Candidate) (Identity, error) {
	b.left, b.against = slices.Clone(all), nil
	b.compare()
	for idle := 0; idle < fruitless && len(b.left) > 1; {
		steps := b.parting()
		if steps == nil {
			idle++
			continue
		}
		if err := b.try(steps); err != nil {
			return Identity{}, err
		}
	}
	fewer := int(min(max(b.limit.Count/100, 1), 4)) // of greater limits each traffic is longer
	if b.limit.Count > large {
		fewer *= 2
	}
	for least := max(len(b.trials)+proofs/fewer, leastTold/fewer); len(b.trials) < least; {
		if err := b.try(b.traffic()); err != nil {
			return Identity{}, err
		}
	}
	if len(b.left) > 0 {
		c := b.left[0]
		for _, prefer := range []func(Candidate) bool{
			// Windows that end with the expiry of the key, where nothing told them from clock-aligned ones.
			func(o Candidate) bool {
				return o.Terms.Alignment == convention.FirstRequest && o.Limit == c.Limit && o.Grain == c.Grain
			},
			func(o Candidate) bool {
				return o.Algorithm == limiter.SlidingLog && describe.KindOf(b.stored) == describe.Log
			},
			func(o Candidate) bool { return b.stored.Bursts() && b.stores(o) },
			// One at a time, and as many as the limit in a window, is spacing.
			func(o Candidate) bool {
				return o.Algorithm == limiter.GCRA && o.Limit.Burst == 1 && b.limit.Count > 1 &&
					rate(o.Limit, b.limit.Window) == float64(b.limit.Count)
			},
		} {
			if i := slices.IndexFunc(b.left, prefer); i >= 0 {
				c = b.left[i]
			}
		}
		id := Identity{Candidate: c, Exact: true, Asked: b.steps(), Agrees: b.steps(), Against: b.others(b.left), alike: b.left}
		if alike := slices.ContainsFunc(b.left, func(o Candidate) bool { return o.Terms.Denied != c.Terms.Denied }); !alike {
			charged := c.Terms.Denied == convention.Charged
			id.Charged = &charged
		}
		return id, nil
	}
	id := b.nearest(all)
	id.Against = b.others([]Candidate{id.Candidate})
	return id, nil
}

func (b *identifier) steps() int {
	return collect.Sum(b.trials, func(t trial) int { return len(t.steps) })
}

// agrees counts the steps of all traffic that a candidate answers as the limiter did.
func (b *identifier) agrees(c Candidate) (n int) {
	for _, t := range b.trials {
		for i, got := range b.answers(c, t.steps) {
			if got == t.admitted[i] {
				n++
			}
		}
	}
	return n
}
