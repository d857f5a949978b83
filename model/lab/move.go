package lab

import (
	"sort"

	"ratescope/limiter"
)

// Distances between checkpoints, in arrivals.
const (
	nearStride = 128
	farStride  = 4096
)

// AdvanceTo lets time pass up to an instant and decides about everything that arrives.
// An instant before now changes nothing.
func (r *Run) AdvanceTo(t limiter.Instant) {
	if t <= r.now {
		return
	}
	r.trail = r.trail[:0]
	r.workload.Until(t)
	r.forward(r.workload.After(t))
	r.now = t
}

// AdvanceSome is AdvanceTo in parts: it decides about `most` arrivals at most, and reports
// whether it got there.
func (r *Run) AdvanceSome(t limiter.Instant, most int) bool {
	r.trail = r.trail[:0]
	for range most {
		a, ok := r.Upcoming()
		if !ok || a.At > t {
			r.now = max(r.now, t)
			return true
		}
		r.forward(r.at + 1)
		r.now = max(r.now, a.At)
	}
	return false
}

// Reach lets time pass up to an instant, as AdvanceTo, and leaves so many of the requests that
// arrive at that very instant still to come.
func (r *Run) Reach(t limiter.Instant, left int) {
	r.AdvanceTo(t - 1)
	r.workload.Until(t)
	for r.workload.After(t)-r.at > left && r.Step() {
	}
	r.trail = r.trail[:0]
	r.now = max(r.now, t)
}

// SeekTo goes to an instant in either direction, though not before the beginning. What
// arrives at that very instant has been decided.
func (r *Run) SeekTo(t limiter.Instant) {
	t = max(t, r.setup.Zero)
	if t >= r.now {
		r.AdvanceTo(t)
		return
	}
	r.trail = r.trail[:0]
	r.goTo(r.workload.After(t))
	r.now = t
}

// Step goes to the next arrival and decides about it alone. It returns false when nothing
// comes any more.
func (r *Run) Step() bool {
	a, ok := r.Upcoming()
	if !ok {
		return false
	}
	r.trail = append(r.trail, position{r.at, r.now})
	r.forward(r.at + 1)
	r.now = max(r.now, a.At)
	return true
}

// StepBack undoes a Step; where there was none it goes to just after the arrival before,
// or before that one when it is there already. It returns false at the beginning.
func (r *Run) StepBack() bool {
	if n := len(r.trail); n > 0 {
		p := r.trail[n-1]
		r.trail = r.trail[:n-1]
		r.goTo(p.at)
		r.now = p.now
		return true
	}
	if r.at == 0 {
		moved := r.now > r.setup.Zero
		r.now = r.setup.Zero
		return moved
	}
	if last := r.workload.At(r.at - 1).At; r.now > last {
		r.now = last
		r.version++
		return true
	}
	r.goTo(r.at - 1)
	r.now = r.setup.Zero
	if r.at > 0 {
		r.now = r.workload.At(r.at - 1).At
	}
	return true
}

// Fire sends one request by hand, now, and returns its number.
func (r *Run) Fire(cost int64) int {
	r.workload.Until(r.now)
	r.forget(r.at)
	r.workload.Insert(r.at, Arrival{At: r.now, Cost: cost, Fired: true})
	r.trail = r.trail[:0]
	r.version++
	r.forward(r.at + 1)
	return r.at - 1
}

// forward decides about arrivals up to number `to`.
func (r *Run) forward(to int) {
	for ; r.at < to; r.at++ {
		if r.at == r.next {
			r.mark()
		}
		a := r.workload.At(r.at)
		var v Verdicts
		for i := range r.runners {
			if a.sentTo(i) {
				l := &r.runners[i]
				most := max(l.counts.Largest, r.setup.Limit.Count)
				d, wrong := l.take(a, r.at, &r.setup)
				over := l.candidate.Bursts() && l.candidate.Fault == NoFault && r.setup.Limit.Count > 0 && l.counts.Largest > most
				if l.answers(a) {
					v.set(i, d.Allowed, wrong, over)
				}
			}
		}
		if r.at < len(r.verdicts) {
			r.verdicts[r.at] = v
		} else {
			r.verdicts = append(r.verdicts, v)
		}
	}
}

// mark keeps a checkpoint before arrival r.at. They stand close where people step, and
// further apart the longer a run is.
func (r *Run) mark() {
	c := checkpoint{at: r.at, runners: make([]runner, len(r.runners))}
	for i := range r.runners {
		c.runners[i] = r.runners[i].clone()
	}
	r.marks = append(r.marks, c)
	r.next = r.at + min(max(nearStride, r.at/16), farStride)
}

// goTo brings everything to where `to` arrivals have been decided, by way of the nearest
// checkpoint when that is behind.
func (r *Run) goTo(to int) {
	if to < r.at {
		for c := range r.runners {
			r.runners[c], r.at = r.runnerBefore(c, to)
		}
	}
	r.forward(to)
	r.version++
}

// forget drops every checkpoint and verdict that lies behind arrival i.
func (r *Run) forget(i int) {
	keep := sort.Search(len(r.marks), func(k int) bool { return r.marks[k].at > i })
	r.marks = r.marks[:keep]
	r.verdicts = r.verdicts[:min(i, len(r.verdicts))]
	r.next = 0
	if keep > 0 {
		last := r.marks[keep-1].at
		r.next = last + min(max(nearStride, last/16), farStride)
	}
	if r.next < r.at { // the spacing restarts here
		r.next = r.at
	}
}
