package bench

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// Identity is which algorithm a limiter is, as far as its answers tell.
type Identity struct {
	Candidate      // the zero Candidate where none fits
	Exact     bool // it answered every request as the candidate would; else it is the nearest
	Agrees    int  // of Asked steps of traffic
	Asked     int
	Charged   *bool // whether denied requests are charged; nil where it is not known
	Against   []Against
	alike     []Candidate // that answer as it does, where it is exact
}

// Rounding says what becomes of the share of the window before, as far as the answers tell; "" where there is none.
func (id Identity) Rounding() string {
	switch {
	case id.Algorithm != limiter.SlidingWindow:
		return ""
	case slices.ContainsFunc(id.alike, func(c Candidate) bool { return c.Algorithm == id.Algorithm && c.Terms.Rounding != id.Terms.Rounding }):
		return "rounded down or exact: no traffic of whole requests tells them apart"
	}
	return [...]string{"rounded down", "exact", "rounded"}[id.Terms.Rounding]
}

// Against is the first step that speaks against an algorithm: against its candidate that agreed the longest.
type Against struct {
	Algorithm limiter.Algorithm
	Limit     limiter.Limit
	Steps     []Step
	Text      string
}

// speaks keeps what speaks against a candidate, and reports whether a step does.
func (b *identifier) speaks(c Candidate, steps []Step, got []int64) bool {
	want := b.answers(c, steps)
	i := firstUnlike(got, want)
	if i < 0 {
		return false
	}
	s, text := steps[i], ""
	if i > 0 {
		text = "after " + Words(joined(steps[:i])) + ": "
	}
	said := map[bool][2]string{true: {"admitted", "deny"}, false: {"denied", "admit"}}[got[i] > want[i]]
	text += fmt.Sprintf("request %d at %s was %s, and it would %s that", min(got[i], want[i])+1, seconds(s.At), said[0], said[1])
	of := func(a Against) bool { return a.Algorithm == c.Algorithm }
	if told := c.Limit.Window == b.limit.Window && c.Grain == 0 && c.After == 0; told || !slices.ContainsFunc(b.against, of) {
		b.against = append(slices.DeleteFunc(b.against, of), Against{c.Algorithm, c.Limit, joined(steps[:i+1]), text})
	}
	return true
}

// others returns what speaks against the algorithms of which no candidate is left.
func (b *identifier) others(left []Candidate) []Against {
	all := slices.DeleteFunc(slices.Clone(b.against), func(a Against) bool {
		return slices.ContainsFunc(left, func(c Candidate) bool { return c.Algorithm == a.Algorithm })
	})
	slices.SortFunc(all, func(x, y Against) int { return cmp.Compare(x.Algorithm, y.Algorithm) })
	return all
}

// Shares of the steps that the nearest candidate has to answer as the limiter does: where what is stored is
// typical of its algorithm, and where nothing else speaks for it.
const (
	enoughTypical = 0.6
	enough        = 0.9
	nearly        = 0.97 // for two counters where one was seen
)

// stores reports whether a candidate would store what the limiter does.
func (b *identifier) stores(c Candidate) bool {
	if b.stored.Bursts() {
		return c.Algorithm.Bursts() && (c.Terms.Refill != convention.Interval || b.stored == limiter.TokenBucket)
	}
	return describe.KindOf(c.Algorithm) == describe.KindOf(b.stored)
}

// nearest returns the candidate that agrees most, if that is enough.
func (b *identifier) nearest(all []Candidate) Identity {
	best, typical := Identity{Asked: b.steps()}, Identity{Asked: b.steps()}
	told := 0 // a step in fifty does not speak for another limit than it is told
	for _, c := range all {
		n := b.agrees(c)
		if n > best.Agrees {
			best.Candidate, best.Agrees = c, n
		}
		more := 0
		if c.Limit.Count == b.limit.Count && c.Limit.Window == b.limit.Window {
			more = best.Asked / 50
		}
		counters := c.Algorithm == limiter.SlidingWindow && b.stored == limiter.FixedWindow && float64(n) >= nearly*float64(best.Asked)
		if n+more > typical.Agrees+told && !c.Renewed && (b.stores(c) || counters) {
			typical.Candidate, typical.Agrees, told = c, n, more
		}
	}
	switch asked := float64(best.Asked); {
	case float64(typical.Agrees) >= enoughTypical*asked:
		return typical
	case float64(best.Agrees) >= enough*asked:
		return best
	}
	return Identity{Asked: best.Asked, Agrees: best.Agrees}
}

// bans finds out whether many denials, late in the wait for what comes back, keep all others out, as one does not.
func (b *identifier) bans(begin time.Duration) error {
	late, w := (b.m.first * 9 / 10).Truncate(time.Millisecond), b.limit.Window
	denied := func(n int64, d time.Duration) (bool, error) {
		steps := append([]Step{{At: begin, N: b.m.capacity}}, slices.Repeat([]Step{{At: begin + late, N: 1}}, int(n))...)
		got, err := b.play(append(steps, Step{At: begin + max(d, late), N: 1}))
		return err == nil && got[n+1] == 0, err
	}
	high := min(b.burst(), 2*large+16)
	if is, err := denied(high, b.m.first+w/5); err != nil || !is {
		return err
	}
	high = int64(sort.Search(int(high), func(n int) bool { is, err := denied(int64(n), b.m.first+w/5); return err != nil || is }))
	hints := []time.Duration{late + w, late + time.Minute, late + 5*time.Minute, late + time.Hour}
	again, err := earliest(w, hints, func(d time.Duration) (bool, error) { is, err := denied(high, d); return err == nil && !is, err })
	if b.m.after, b.m.block = high, again-late; again == 0 {
		b.m.block = Forever
	}
	return err
}

// bans counts a denial, and reports whether it begins a block.
func (s *simulated) bans() bool {
	switch {
	case s.After == 0:
		return true
	case s.Within == 0:
		return s.used-s.Limit.Count >= s.After
	case s.now >= s.until:
		s.denied, s.until = 0, s.now.Add(s.Within)
	}
	if s.Recent {
		s.until = s.now.Add(s.Within)
	}
	if s.denied++; s.denied >= s.After {
		s.until = 0
		return true
	}
	return false
}

// Observed is a request that was answered in real time.
type Observed struct {
	At       limiter.Instant
	Admitted bool
}

// Outside is the traffic by which an application is judged from outside, where nothing can be reset and no clock
// be set: it begins OutsideBegins after an edge of the clock with two requests, which leave a log one by one, fills up what is
// left, asks again and again for more than a window, and fills up three times more after pauses. Times are since its beginning.
func Outside(l limiter.Limit) (steps []Step) {
	part := func(thousandths int64) time.Duration { return time.Duration(int64(l.Window) / 1000 * thousandths) }
	steps = []Step{{At: 0, N: 1}, {At: part(131), N: 1}, {At: part(293), N: l.Count + 2}}
	for at := int64(293 + 53); at < 1450; at += 53 { // beside what comes back at even fractions of the window
		steps = append(steps, Step{At: part(at), N: 1})
	}
	for _, at := range []int64{2557, 3347, 3619} { // after a window of rest: early in one, late in it, early in the next
		steps = append(steps, Step{At: part(at), N: l.Count + 2})
	}
	return steps
}

// OutsideBegins is how long after an edge of the clock that traffic begins: at no even fraction of the window.
func OutsideBegins(window time.Duration) time.Duration { return window / 1000 * 440 }

// plausible is the share of answers that a candidate has to give too: times are not exact from outside.
const plausible = 0.9

// Judge says what an application does, as far as its answers to Outside tell.
func Judge(o Options, seen []Observed) Report {
	r := Report{Told: o.Limit, Requests: int64(len(seen)), Traffics: 1}
	if len(seen) == 0 {
		return r
	}
	b := identifier{limit: o.Limit}
	b.zero = seen[0].At.Floor(o.Limit.Window)
	t := trial{}
	for _, s := range seen {
		t.steps = append(t.steps, Step{At: s.At.Sub(b.zero), N: 1})
		n := collect.If(s.Admitted, 1, int64(0))
		t.admitted = append(t.admitted, n)
	}
	b.trials = []trial{t}
	first := int64(slices.Index(t.admitted, 0)) // admitted before the first denial
	n, from, to := fullest(t.steps, t.admitted, o.Limit.Window, 0)
	r.Worst = Worst{Admitted: n, Searched: 1, Steps: together(took(t.steps[from:to+1], t.admitted[from:to+1]))}
	if first < 0 {
		r.find(OverAdmits, true, r.Worst.Steps, "no denial was seen: all of %d requests were admitted", len(seen))
		return r
	}
	type fit struct {
		c      Candidate
		agrees int
		rank   int // one answer may be due to the time that a request takes, but to no other limit or clock
	}
	var fits []fit
	told := o.Limit.Count
	for _, n := range []int64{told, told + 1, told - 1, told / 2, 2 * told, r.Worst.Admitted, first} {
		for _, c := range candidates(o.Limit, measured{capacity: n}) {
			if c.Terms.Refill == convention.Interval {
				continue // of a whole limit it answers as a fixed window, of one as GCRA
			}
			f := fit{c: c, agrees: b.agrees(c)}
			if f.rank = f.agrees; c.Limit.Count == told && c.Limit.Window == o.Limit.Window && c.Grain == 0 && !c.Renewed {
				f.rank++
			}
			fits = append(fits, f)
		}
	}
	slices.SortStableFunc(fits, func(x, y fit) int { return cmp.Compare(y.rank, x.rank) })
	r.Identity.Asked = len(seen)
	if len(fits) > 0 && fits[0].agrees >= int(plausible*float64(len(seen))) {
		r.Identity.Candidate, r.Identity.Agrees = fits[0].c, fits[0].agrees
		r.Limit = fits[0].c.Limit
		for _, f := range fits {
			if f.rank == fits[0].rank {
				r.Identity.alike = append(r.Identity.alike, f.c)
			}
			if f.rank >= fits[0].rank-1 && f.agrees >= fits[0].agrees-1 && (f.rank > f.agrees || f.rank == fits[0].rank) &&
				!slices.Contains(r.Alike, f.c.Algorithm) {
				r.Alike = append(r.Alike, f.c.Algorithm)
			}
		}
	}
	if len(r.Alike) > 1 {
		r.Identity.Candidate = Candidate{} // the answers do not tell them apart
	}
	r.judgeOutside(o, t)
	return r
}

// judgeOutside compares what was admitted with the limit.
func (r *Report) judgeOutside(o Options, t trial) {
	bound := 2 * o.Limit.Count
	if c := r.promise(); c.Algorithm != limiter.Unknown {
		bound = c.Bound(o.Limit)
	}
	if o.Exact {
		bound = o.Limit.Count
	}
	if n := r.Worst.Admitted; n > bound {
		r.find(OverAdmits, true, r.Worst.Steps, "%d were admitted within %s, where %d may be", n, seconds(o.Limit.Window), bound)
	}
	first := int64(0)
	denied := false
	for i, s := range t.steps { // one and a burst, within half a window: all fits
		if s.At-t.steps[0].At > 2*o.Limit.Window/5 {
			break
		}
		first += t.admitted[i]
		denied = denied || t.admitted[i] == 0
	}
	if denied && first < o.Limit.Count {
		r.find(UnderAdmits, true, nil, "%d were admitted before the first denial, where the limit is %d", first, o.Limit.Count)
	}
}

// together joins requests that came within a hundredth of a second.
func together(steps []Step) []Step {
	for i := range steps {
		steps[i].At = steps[i].At.Truncate(10 * time.Millisecond)
	}
	return joined(steps)
}
