package bench

import (
	"cmp"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/collect"
)

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
	n, from, to := b.fullest(t.steps, t.admitted)
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
