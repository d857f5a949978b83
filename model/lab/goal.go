package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// GoalKind names what a lesson asks for.
type GoalKind string

// The kinds. "Of" is the contender that the goal is about; requests are those fired by
// hand unless said otherwise.
const (
	GoalLargest    GoalKind = "largest"              // Of admits Value in one true window, whoever sent them
	GoalFates      GoalKind = "fates"                // the last requests met these Fates at Of, in this order
	GoalSilence    GoalKind = "denied-after-silence" // Of denies a request though nothing came for SilenceMS
	GoalLockout    GoalKind = "locked-out"           // Of denies Value requests in a row, over WithinMS or longer
	GoalEstimate   GoalKind = "estimate"             // a request leaves Of with the estimate Values[0], and Value in the current window
	GoalReadings   GoalKind = "readings"             // what Of has used becomes these Values one after the other
	GoalDisagree   GoalKind = "disagree"             // Of admits what Other denies, Value times
	GoalFalseDeny  GoalKind = "wrongly-denied"       // Of denies what the exact log admits, Value times
	GoalUnderLoad  GoalKind = "under-load"           // Of admits a request after Value denials in the last window
	GoalJustInTime GoalKind = "just-in-time"         // Of denies one, and admits the next within WithinMS of its slot
)

// Goal is what a person has to bring about in a lesson.
type Goal struct {
	Kind      GoalKind  `json:"kind"`
	Of        string    `json:"of"`
	Other     string    `json:"other,omitempty"`
	Value     int64     `json:"value,omitempty"`
	Values    []float64 `json:"values,omitempty"`
	Fates     []string  `json:"fates,omitempty"` // allow or deny
	SilenceMS float64   `json:"silence_ms,omitempty"`
	WithinMS  float64   `json:"within_ms,omitempty"`
	Say       string    `json:"say"`            // the task, one sentence
	Hint      string    `json:"hint,omitempty"` // for who is stuck
	Then      string    `json:"then,omitempty"` // what it shows, once reached
}

// check says what is wrong with a goal, for a comparison of these contenders.
func (g Goal) check(into []Contender) error {
	of, other, err := g.contenders(into)
	if err != nil {
		return err
	}
	positive := g.Value > 0
	switch g.Kind {
	case GoalLargest, GoalFalseDeny, GoalUnderLoad:
	case GoalFates:
		for _, f := range g.Fates {
			if f != "allow" && f != "deny" {
				return fmt.Errorf("goal: fate %q is neither allow nor deny", f)
			}
		}
		positive = len(g.Fates) > 0
	case GoalSilence:
		positive = g.SilenceMS > 0
	case GoalLockout:
		positive = positive && g.WithinMS > 0
	case GoalEstimate, GoalReadings:
		positive = len(g.Values) > 0
	case GoalDisagree:
		if other < 0 || other == of {
			return fmt.Errorf("goal disagree: %q is not another one of the algorithms compared", g.Other)
		}
	case GoalJustInTime:
		positive = g.WithinMS > 0
	default:
		return fmt.Errorf("there is no goal %q", g.Kind)
	}
	if !positive {
		return fmt.Errorf("goal %s: it does not say how much", g.Kind)
	}
	if g.Say == "" {
		return fmt.Errorf("goal %s: it has no task for the reader (say)", g.Kind)
	}
	return nil
}

// contenders finds whom the goal is about; other is -1 where nobody is named.
func (g Goal) contenders(into []Contender) (of, other int, err error) {
	find := func(name string) int {
		return slices.IndexFunc(into, func(c Contender) bool { return c.String() == name })
	}
	of, other = find(g.Of), find(g.Other)
	if of < 0 {
		return 0, 0, fmt.Errorf("goal: %q is not one of the algorithms compared", g.Of)
	}
	return of, other, nil
}

// Progress is how far a goal is.
type Progress struct {
	Reached bool
	At      limiter.Instant // of the request that reached it
	Text    string          // where things stand, in a few words
}

// Progress looks at everything that has happened in a run.
func (g Goal) Progress(r *Run) Progress {
	of, other, err := g.contenders(r.setup.Contenders)
	if err != nil {
		return Progress{Text: "choose the lesson's own algorithms again to go for its goal"}
	}
	w := watcher{goal: g, of: of, other: other, run: r, window: r.setup.Limit.Window}
	r.Replay(of, func(i int, a Arrival, d limiter.Decision) bool {
		w.see(i, a, d)
		return !w.done.Reached
	})
	w.finish()
	return w.done
}

// watcher goes through a run with a goal in mind.
type watcher struct {
	goal      Goal
	run       *Run
	of, other int
	window    time.Duration

	done    Progress
	inside  ring
	count   int64
	best    int64
	last    limiter.Instant // the arrival before
	any     bool
	fates   []string
	since   limiter.Instant // of the first denial in a row
	denials []limiter.Instant
	slot    limiter.Instant // when the request denied last would be admitted
	late    time.Duration   // how long after its slot the one after it was admitted
	nearest float64
	levels  []level
}

// level is what the contender had used from an instant on.
type level struct {
	at   limiter.Instant
	used float64
}

func (w *watcher) reach(a Arrival) { w.done.Reached, w.done.At = true, a.At }

// see takes in one request and what became of it.
func (w *watcher) see(i int, a Arrival, d limiter.Decision) {
	g := w.goal
	switch g.Kind {
	case GoalLargest:
		if d.Allowed {
			w.best = max(w.best, w.inside.add(a.At, a.Cost, int64(w.window/time.Microsecond)))
		}
		if w.best >= g.Value {
			w.reach(a)
		}
	case GoalUnderLoad:
		w.underLoad(a, d)
	case GoalSilence:
		quiet := a.At.Sub(w.last)
		if a.Fired && w.any && !d.Allowed && quiet >= millis(g.SilenceMS) {
			w.reach(a)
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
			w.reach(a)
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
		w.best = max(w.best, w.count)
	case GoalEstimate:
		w.nearest = d.Estimate
		if diff := d.Estimate - g.Values[0]; d.Allowed && diff < 0.05 && diff > -0.05 && (g.Value == 0 || d.Current == g.Value) {
			w.reach(a)
		}
		return
	case GoalDisagree:
		if d.Allowed && !v.Allowed(w.other) {
			w.best++
		}
		hit = w.best >= g.Value
	case GoalFalseDeny:
		if !d.Allowed && v.Exact() {
			w.best++
		}
		hit = w.best >= g.Value
	case GoalJustInTime:
		if w.slot != 0 && d.Allowed {
			w.late = a.At.Sub(w.slot)
			hit = w.late >= 0 && w.late <= millis(g.WithinMS)
		}
		w.slot = 0
		if !d.Allowed && d.RetryAfter != limiter.Never {
			w.slot = a.At.Add(d.RetryAfter)
		}
	}
	if hit {
		w.reach(a)
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
		w.reach(a)
	}
	w.best = int64(len(w.denials))
}

// finish says where things stand.
func (w *watcher) finish() {
	g := w.goal
	say := func(format string, args ...any) { w.done.Text = fmt.Sprintf(format, args...) }
	switch g.Kind {
	case GoalLargest:
		say("most in a true window so far: %d of %d", w.best, g.Value)
	case GoalFates:
		n := min(len(w.fates), 8)
		say("yours so far: %s · wanted: %s", letters(w.fates[len(w.fates)-n:]), letters(g.Fates))
	case GoalSilence:
		say("longest silence before a request of yours: %s of %s", Seconds(time.Duration(w.best)*time.Millisecond), Seconds(millis(g.SilenceMS)))
	case GoalLockout:
		say("denied in a row so far: %d of %d", w.best, g.Value)
	case GoalEstimate:
		say("estimate after your last request: %s, wanted %s", Number(w.nearest), Number(g.Values[0]))
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
			say("denied; your slot frees at %s", Seconds(w.slot.Sub(w.run.setup.Zero)))
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
	walk := NewRun(w.run.setup.Clone(), &Tape{made: w.run.tape.made[:w.run.at:w.run.at], done: true})
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
	want := make([]string, len(w.goal.Values))
	for i, v := range w.goal.Values {
		want[i] = Number(v)
	}
	w.done.Text = fmt.Sprintf("it read %s · wanted, in this order: %s", strings.Join(seen[max(0, len(seen)-8):], " "), strings.Join(want, " "))
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
