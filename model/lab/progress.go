package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// Progress is how far a goal is.
type Progress struct {
	Reached bool
	At      limiter.Instant // of the request that reached it
	Text    string          // where things stand, in a few words
	Then    string          // once reached: what it shows, with the numbers of the run
}

// Progress looks at everything that has happened in a run.
func (g Goal) Progress(r *Run) Progress {
	of, other, err := g.candidates(r.setup.Candidates)
	if err != nil {
		return Progress{Text: "choose the lesson's own algorithms again to go for its goal"}
	}
	g = g.under(r.setup.Limit)
	if g.Kind == GoalSmallest || g.Kind == GoalMost {
		return g.overall(r, of)
	}
	w := watcher{goal: g, of: of, other: other, run: r, window: r.setup.Limit.Window, facts: facts{run: r, goal: &g}}
	r.Replay(of, func(i int, a Arrival, d limiter.Decision) bool {
		w.see(i, a, d)
		return !w.done.Reached
	})
	w.finish()
	if w.done.Reached {
		w.facts.reached, w.facts.at = true, w.done.At
		w.done.Then = w.facts.fill(g.Then)
	}
	return w.done
}

// overall is the progress of a goal that looks at a run as a whole.
func (g Goal) overall(r *Run, of int) Progress {
	f := facts{run: r, goal: &g, at: r.now, reached: true, selected: r.selected}
	var p Progress
	switch g.Kind {
	case GoalSmallest:
		l := r.setup.Limit.Count
		p.Text = fmt.Sprintf("denied so far under a limit of %d: %d", l, r.Counts(of).Denied)
		p.Reached = l == g.Value
	case GoalMost:
		_, more := r.Upcoming()
		best := 0
		for i := range r.runners {
			if r.Counts(i).Largest > r.Counts(best).Largest {
				best = i
			}
		}
		p.Text = fmt.Sprintf("selected: %s, most so far %d", r.setup.Candidates[r.selected], r.Counts(r.selected).Largest)
		p.Reached = !more && r.Counts(r.selected).Largest == r.Counts(best).Largest
	}
	if p.Reached {
		p.At, p.Then = r.now, f.fill(g.Then)
	}
	return p
}

// watcher goes through a run with a goal in mind.
type watcher struct {
	goal      Goal
	run       *Run
	of, other int
	window    time.Duration

	done    Progress
	facts   facts
	inside  ring
	count   int64
	best    int64
	last    limiter.Instant // the arrival before
	any     bool
	fates   []string
	since   limiter.Instant // of the first denial in a row
	denials []limiter.Instant
	slot    limiter.Instant // when the request denied last would be admitted
	waited  time.Duration   // what it was told to wait
	late    time.Duration   // how long after its slot the one after it was admitted
	nearest float64
	aimed   Arrival // fired last
	hit     bool    // and it met the estimate
	levels  []level
}

// level is what the candidate had used from an instant on.
type level struct {
	at   limiter.Instant
	used float64
}

func (w *watcher) reach(a Arrival, d limiter.Decision) {
	w.done.Reached, w.done.At = true, a.At
	w.facts.decision = d
}

// see takes in one request and what became of it.
func (w *watcher) see(i int, a Arrival, d limiter.Decision) {
	g := w.goal
	switch g.Kind {
	case GoalLargest:
		if d.Allowed {
			inside, _ := w.inside.add(a.At, a.Cost, int64(w.window/time.Microsecond))
			w.best = max(w.best, inside)
		}
		if w.best >= g.Value {
			w.reach(a, d)
		}
	case GoalUnderLoad:
		w.underLoad(a, d)
	case GoalSilence:
		quiet := a.At.Sub(w.last)
		if a.Fired && w.any && !d.Allowed && quiet >= millis(g.SilenceMS) {
			w.facts.span = quiet
			w.reach(a, d)
		}
		if a.Fired && w.any {
			w.best = max(w.best, int64(quiet/time.Millisecond))
		}
	case GoalReadings:
		w.levels = append(w.levels, level{a.At, 0})
	default:
		if a.Fired {
			w.seeFired(i, a, d)
		}
	}
	w.last, w.any = a.At, true
}

// seeFired is for the goals that only look at what was fired by hand.
func (w *watcher) seeFired(i int, a Arrival, d limiter.Decision) {
	g, v := w.goal, w.run.verdicts[i]
	hit := false
	switch g.Kind {
	case GoalFates:
		w.fates = append(w.fates, fate(d.Allowed))
		n := len(w.fates) - len(g.Fates)
		if n >= 0 && slices.Equal(w.fates[n:], g.Fates) {
			w.reach(a, d)
		}
		return
	case GoalLockout:
		switch {
		case d.Allowed:
			w.count = 0
		case w.count == 0:
			w.since = a.At
			fallthrough
		default:
			w.count++
		}
		hit = w.count >= g.Value && a.At.Sub(w.since) >= millis(g.WithinMS)
		w.facts.row, w.facts.span = w.count, a.At.Sub(w.since)
		w.best = max(w.best, w.count)
	case GoalEstimate:
		// Only the latest request decides: one burst through the estimate is no aim at it.
		w.nearest, w.aimed = d.Estimate, a
		diff := d.Estimate - g.Values[0]
		w.hit = d.Allowed && diff < 0.05 && diff > -0.05 && (g.Value == 0 || d.Current == g.Value)
		w.facts.decision = d
		return
	case GoalDisagree:
		if d.Allowed && !v.Allowed(w.other) {
			w.best++
		}
		hit = w.best >= g.Value
	case GoalFalseDeny:
		if !d.Allowed && v.Wrong(w.of) {
			w.best++
		}
		hit = w.best >= g.Value
	case GoalJustInTime:
		if w.slot != 0 && d.Allowed {
			w.late = a.At.Sub(w.slot)
			hit = w.late >= 0 && w.late <= millis(g.WithinMS)
			w.facts.span, d.RetryAfter = w.late, w.waited
		}
		w.slot = 0
		if !d.Allowed && d.RetryAfter != limiter.Never {
			w.slot, w.waited = a.At.Add(d.RetryAfter), d.RetryAfter
		}
	}
	if hit {
		w.reach(a, d)
	}
}

// underLoad counts the denials of the last window before an admitted request.
func (w *watcher) underLoad(a Arrival, d limiter.Decision) {
	for len(w.denials) > 0 && a.At.Sub(w.denials[0]) >= w.window {
		w.denials = w.denials[1:]
	}
	n := int64(len(w.denials))
	switch {
	case !d.Allowed:
		w.denials = append(w.denials, a.At)
	case a.Fired && n >= w.goal.Value:
		w.facts.row = n
		w.reach(a, d)
	}
	w.best = int64(len(w.denials))
}

// finish says where things stand.
func (w *watcher) finish() {
	g := w.goal
	say := func(format string, args ...any) { w.done.Text = fmt.Sprintf(format, args...) }
	switch g.Kind {
	case GoalLargest:
		say("most in a true window so far: %d, wanted %d", w.best, g.Value)
	case GoalFates:
		n := min(len(w.fates), 8)
		say("yours so far: %s · wanted: %s", letters(w.fates[len(w.fates)-n:]), letters(g.Fates))
	case GoalSilence:
		say("longest silence before a request of yours: %s of %s", Seconds(time.Duration(w.best)*time.Millisecond), Seconds(millis(g.SilenceMS)))
	case GoalLockout:
		say("denied in a row so far: %d of %d", w.best, g.Value)
	case GoalEstimate:
		say("estimate after your last request: %s, wanted %s", Number(w.nearest), Number(g.Values[0]))
		if w.hit {
			w.done.Reached, w.done.At = true, w.aimed.At
		}
	case GoalReadings:
		w.readings()
	case GoalDisagree:
		say("%s admitted what %s denied: %d of %d", g.Of, g.Other, w.best, g.Value)
	case GoalFalseDeny:
		say("wrongly denied so far: %d of %d", w.best, g.Value)
	case GoalUnderLoad:
		say("denied in the last window: %d; one of yours has to get through at %d or more", w.best, g.Value)
	case GoalJustInTime:
		switch {
		case w.slot != 0:
			say("denied; your slot frees at %s", w.run.setup.clock(w.slot))
		case w.late > 0:
			say("admitted %s after its slot, wanted within %s: get one denied again", Seconds(w.late), Seconds(millis(g.WithinMS)))
		default:
			say("get one denied first")
		}
	}
}

// readings follows what is used through every moment at which it can change: when a
// request arrives and when one leaves.
func (w *watcher) readings() {
	moments := make([]limiter.Instant, 0, 2*len(w.levels)+1)
	for _, l := range w.levels {
		moments = append(moments, l.at, l.at.Add(w.window), l.at.Add(w.window)+1)
	}
	slices.Sort(moments)
	walk := NewRun(w.run.setup.Clone(), &Workload{made: w.run.workload.made[:w.run.at:w.run.at], done: true})
	got := 0
	var seen []string
	last := -1.0
	for _, at := range append(moments, w.run.now) {
		if at > w.run.now {
			continue
		}
		walk.AdvanceTo(at)
		used := float64(walk.Ask(w.of, 0).Decision.Used)
		if used != last {
			seen, last = append(seen, Number(used)), used
		}
		if used == w.goal.Values[got] {
			if got++; got == len(w.goal.Values) {
				w.done.Reached, w.done.At = true, at
				break
			}
		}
	}
	w.done.Text = fmt.Sprintf("it read %s · wanted, in this order: %s", strings.Join(seen[max(0, len(seen)-8):], " "), strings.Join(numbers(w.goal.Values), " "))
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func fate(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "deny"
}

// letters writes fates as marks.
func letters(fates []string) string {
	if len(fates) == 0 {
		return "none"
	}
	marks := make([]string, len(fates))
	for i, f := range fates {
		marks[i] = map[string]string{"allow": "✓", "deny": "✖"}[f]
	}
	return strings.Join(marks, " ")
}
