package bench

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// highest returns the greatest cost that was admitted in any window that is open at its beginning.
func (b *identifier) highest(steps []Step, admitted []int64) (n int64) {
	n, _, _ = fullest(steps, admitted, b.limit.Window, b.spread)
	return n
}

// fullest returns the greatest cost that was admitted in any window of w, and the steps from and to which it was. The requests of
// a step are spread: the last ones of many may come when the first step has left the window.
func fullest(steps []Step, admitted []int64, w, spread time.Duration) (n int64, from, to int) {
	for i := range steps {
		sum, end := int64(0), steps[i].At+spread*time.Duration(admitted[i])
		k := i
		for ; k >= 0 && steps[k].At > end-w; k-- {
			sum += admitted[k] * steps[k].cost()
		}
		if sum > n {
			n, from, to = sum, k+1, i
		}
	}
	return n, from, to
}

// attacks are the traffics among which the worst is searched: bursts around everything that a limiter
// compares with, and clients that ask again and again.
func (b *identifier) attacks() [][]Step {
	w, burst := b.limit.Window, b.burst()
	cut := func(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }
	last := w - time.Millisecond
	starts := []time.Duration{last, 0, cut(w / 2), cut(w - 1), time.Millisecond, 999 * time.Millisecond, max(w-time.Second, 0)}
	gaps := append([]time.Duration{last, time.Millisecond, cut(w / 2), max(w-time.Second, 1), max(w-999*time.Millisecond, 1)}, b.gaps...)
	gaps = slices.DeleteFunc(gaps, func(d time.Duration) bool { return d <= 0 || d >= w })
	var all [][]Step
	add := func(steps ...Step) {
		if !slices.ContainsFunc(all, func(o []Step) bool { return slices.Equal(o, steps) }) {
			all = append(all, steps)
		}
	}
	add(Step{At: 0, N: burst}) // at once, and after a rest
	add(Step{At: 0, N: 1}, Step{At: 3 * w, N: burst}, Step{At: 4*w - time.Millisecond, N: burst})
	if p := b.pace; p.n > 0 { // as late in a window as it can be filled
		late := max(w-p.every*time.Duration(b.limit.Count/p.n+1), 0)
		add(Step{At: late, N: 4 * burst})
		add(Step{At: 0, N: 1}, Step{At: late, N: 4 * burst})
	}
	for _, edge := range []time.Duration{w, b.m.first, b.m.all} {
		if edge >= time.Millisecond && edge <= 4*w { // the first request begins what ends then
			add(Step{At: 0, N: 1}, Step{At: edge - time.Millisecond, N: burst}, Step{At: edge, N: burst})
			add(Step{At: 0, N: 1}, Step{At: edge - time.Millisecond, N: burst}, Step{At: edge, N: burst},
				Step{At: 2*edge - time.Millisecond, N: burst})
			add(Step{At: 0, N: burst}, Step{At: edge, N: burst}, Step{At: 2 * edge, N: burst}, Step{At: 3 * edge, N: burst})
			if n := b.m.capacity; n > 1 { // none is denied, which may block
				add(Step{At: 0, N: 1}, Step{At: edge - time.Millisecond, N: n - 1}, Step{At: edge, N: n})
			}
		}
	}
	var slow []Step // each request apart, for what is rounded at each
	for i := range min(b.m.capacity, 100) {
		slow = append(slow, Step{At: time.Duration(i) * time.Millisecond, N: 1})
	}
	add(append(slow, Step{At: cut(w / 4), N: burst}, Step{At: cut(w / 2), N: burst}, Step{At: cut(3 * w / 4), N: burst})...)
	for _, from := range starts {
		for _, gap := range gaps {
			add(Step{At: from, N: burst}, Step{At: from + gap, N: burst})
		}
	}
	for _, from := range starts[:2] {
		for _, every := range []time.Duration{w / time.Duration(2*b.limit.Count), w / time.Duration(b.limit.Count), w / 7, w / 40,
			w / 1000, time.Millisecond} {
			every = max(cut(every), time.Millisecond)
			steps := []Step{{At: from, N: burst}}
			for at := every; at < w && len(steps) < 1200; at += every {
				steps = append(steps, Step{At: from + at, N: burst})
			}
			add(steps...)
		}
	}
	return all
}

// Effort of the search for the worst window, in requests.
const (
	searchMost   = 40_000
	minimizeMost = 20_000
)

// worst searches for the traffic of which most is admitted in one window, the one with the fewest requests
// where several are alike. What the limiter is says where to look first, and where it is that exactly, where
// not to look.
func (b *identifier) worst(id Identity) (n int64, steps []Step, searched int, err error) {
	type attack struct {
		steps   []Step
		promise int64
	}
	b.cap = 8*b.limit.Count + 2000
	defer func() { b.cap = 0 }()
	var all []attack
	for _, s := range b.attacks() {
		a := attack{steps: b.pace.spread(s)}
		if id.Algorithm != limiter.Unknown {
			a.promise = b.highest(a.steps, b.answers(id.Candidate, a.steps))
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(x, y attack) int { return cmp.Compare(y.promise, x.promise) })
	for _, t := range b.trials { // what was asked before counts too
		if m := b.highest(t.steps, t.admitted); m > n {
			n, steps = m, took(t.steps, t.admitted)
		}
	}
	bound := b.sent + searchMost
	if id.Exact {
		bound = b.sent + searchMost/4
	}
	for _, a := range all {
		if b.sent > bound || id.Exact && a.promise < n {
			break
		}
		got, err := b.play(a.steps)
		if err != nil {
			return n, steps, searched, err
		}
		searched++
		m, taken := b.highest(a.steps, got), took(a.steps, got)
		if m > n || m == n && cmp.Or(cmp.Compare(requests(taken), requests(steps)), cmp.Compare(len(taken), len(steps))) < 0 {
			n, steps, b.cutOff = m, taken, b.cut
		}
	}
	least := n
	searched += len(b.trials)
	if small := b.minimize(steps, func(s []Step, got []int64) bool { return b.highest(s, got) >= least }); small != nil {
		steps = small
	}
	return n, steps, searched, nil
}

// took drops from traffic what was not admitted.
func took(steps []Step, admitted []int64) (kept []Step) {
	for i, s := range steps {
		if s.N = admitted[i]; s.N > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// minimize makes traffic as small as it goes while it still shows what it has to show: fewest steps,
// fewest requests, fewest instants, roundest times. It returns nil where the traffic does not show it at all.
func (b *identifier) minimize(steps []Step, shows func([]Step, []int64) bool) []Step {
	bound := b.sent + minimizeMost
	holds := func(s []Step) bool {
		if len(s) == 0 || b.sent > bound || !slices.IsSortedFunc(s, func(x, y Step) int { return int(x.At - y.At) }) || s[0].At < 0 {
			return false
		}
		got, err := b.play(s)
		return err == nil && shows(s, got)
	}
	if !holds(steps) {
		return nil
	}
	try := func(s []Step) bool {
		if holds(s) {
			steps = s
			return true
		}
		return false
	}
	for size := len(steps) / 2; size >= 1; size /= 2 { // drop steps
		for i := 0; i+size <= len(steps); {
			if !try(slices.Delete(slices.Clone(steps), i, i+size)) {
				i += size
			}
		}
	}
	for i := 0; i+1 < len(steps); { // join neighbours
		joined := slices.Clone(steps)
		joined[i+1].N += joined[i].N
		if joined[i].Cost != joined[i+1].Cost || !try(slices.Delete(joined, i, i+1)) {
			i++
		}
	}
	for i := range steps { // fewer requests
		low, high := int64(0), steps[i].N
		for high-low > 1 {
			fewer := slices.Clone(steps)
			fewer[i].N = (low + high) / 2
			if try(fewer) {
				high = fewer[i].N
			} else {
				low = fewer[i].N
			}
		}
	}
	w := b.limit.Window.Round(10 * time.Millisecond)                             // an expiry may have made it a millisecond shorter
	for _, back := range []time.Duration{steps[0].At, steps[0].At.Truncate(w)} { // sooner
		if back > 0 && try(later(steps, -back)) {
			break
		}
	}
	for i := range steps { // rounder times, of it and all after it, then of it alone
		for _, grid := range []time.Duration{w, w / 2, time.Second, 100 * time.Millisecond, 10 * time.Millisecond} {
			if grid < time.Millisecond || steps[i].At%grid == 0 && i > 0 {
				continue
			}
			if round(steps, i, grid, try) {
				break
			}
		}
	}
	try(joined(steps))
	return steps
}

func later(steps []Step, by time.Duration) []Step {
	return collect.Map(steps, func(s Step) Step { s.At += by; return s })
}

// round moves a step to a multiple of grid, the others with it if that will do.
func round(steps []Step, i int, grid time.Duration, try func([]Step) bool) bool {
	down := steps[i].At.Truncate(grid)
	for _, at := range []time.Duration{down, down + grid} {
		if at == steps[i].At {
			return true
		}
		for _, end := range []int{len(steps), i + 1} {
			if try(slices.Concat(steps[:i], later(steps[i:end], at-steps[i].At), steps[end:])) {
				return true
			}
		}
	}
	return false
}

// Attack searches for the shortest traffic of which a limiter admits more than it was told in one window, with most
// requests to it at the most. Times are since zero, which should be aligned to the window.
func Attack(subject Subject, l limiter.Limit, zero limiter.Instant, most int64) (Worst, error) {
	b := &identifier{limit: l, player: player{subject: subject, zero: zero, most: most}}
	err := b.measure(b.uneven())
	w := Worst{Admitted: b.m.capacity, AtLeast: true, Searched: 1, Steps: []Step{{At: 0, N: l.Count + 1}}}
	if err != nil || b.m.endless {
		return w, err
	}
	b.compare()
	w.AtLeast = false
	w.Admitted, w.Steps, w.Searched, err = b.worst(Identity{})
	if errors.Is(err, errSpent) {
		err = nil
	}
	return w, err
}

func firstUnlike(a, b []int64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}
