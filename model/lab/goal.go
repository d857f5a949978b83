package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// GoalKind names what a lesson asks for.
type GoalKind string

// The kinds. "Of" is the candidate that the goal is about; requests are those fired by
// hand unless said otherwise. The texts of a goal name numbers as facts.fill says.
const (
	GoalLargest    GoalKind = "largest"              // Of admits Value in one true window, fired by hand or not
	GoalFates      GoalKind = "fates"                // the last requests met these Fates at Of, in this order
	GoalSilence    GoalKind = "denied-after-silence" // Of denies a request though nothing came for so many Windows
	GoalLockout    GoalKind = "locked-out"           // Of denies Value requests in a row, over so many Windows or longer
	GoalEstimate   GoalKind = "estimate"             // the latest request leaves Of at Values[0], and Value in the current window
	GoalReadings   GoalKind = "readings"             // what Of has used becomes these Values one after the other
	GoalDisagree   GoalKind = "disagree"             // Of admits what Other denies, Value times
	GoalFalseDeny  GoalKind = "wrongly-denied"       // Of denies a request though its true window has room, Value times
	GoalUnderLoad  GoalKind = "under-load"           // Of admits a request after Value denials in the last window
	GoalJustInTime GoalKind = "just-in-time"         // Of denies one, and admits the next within WithinMS of its slot
	GoalSmallest   GoalKind = "smallest-limit"       // the limit is the smallest, Value, under which Of denies nothing that comes by itself
	GoalUnder      GoalKind = "under-limit"          // all that comes by itself has come under a limit of Value
	GoalMost       GoalKind = "most-admitted"        // the selected candidate admits more in a true window than any other; Value is 1
	GoalCheapest   GoalKind = "cheapest"             // the selected one takes least of those that admit Value in a true window at most
)

// Goal is what a person has to bring about in a lesson. A file has beside it tries that miss it, which tests play.
type Goal struct {
	Kind     GoalKind  `json:"kind"`
	Of       string    `json:"of"`
	Other    string    `json:"other,omitempty"`
	Value    int64     `json:"value,omitempty"`
	ValueOf  string    `json:"value_of,omitempty"` // of a limit, as "2*limit-1", "burst+limit" or "3*share"; "" always the same
	Least    int64     `json:"least,omitempty"`    // the smallest limit under which it can be reached
	Values   []float64 `json:"values,omitempty"`
	Fates    []string  `json:"fates,omitempty"`   // allow or deny
	Windows  float64   `json:"windows,omitempty"` // how long, in windows, nothing comes or all is denied
	WithinMS float64   `json:"within_ms,omitempty"`
	Say      string    `json:"say"`            // the task, one sentence
	Hint     string    `json:"hint,omitempty"` // for who is stuck
	Then     string    `json:"then,omitempty"` // what it shows, once reached
}

// valueOf reads what a value is of a limit.
var valueOf = collect.Regexp(`^(?:(burst)\+|(\d)\*)?(limit|share)([+-]\d)?$`)

// under returns the goal with its value for a limit.
func (g Goal) under(l limiter.Limit) Goal {
	if n, ok := ofLimit(g.ValueOf, l); ok {
		g.Value = max(n, 1)
	}
	return g
}

// lasts returns how long nothing comes, or all is denied.
func (g Goal) lasts(l limiter.Limit) time.Duration {
	return time.Duration(g.Windows * float64(l.Window)).Round(time.Millisecond)
}

// counts reports whether a run counts as the lesson does, each request as one, and does not only count where the lesson limits.
func (l *Lesson) counts(r *Run) bool {
	s := &r.setup
	return s.Convention == l.Convention && s.cost() == 1 && (s.Limit.Count > 0 || l.Limit.Count == 0)
}

// otherwise returns a remark where a run counts in another way than the lesson.
func (l *Lesson) otherwise(r *Run, remark string) string {
	return collect.If(l.counts(r), "", remark)
}

// ofLimit returns a value of a limit, as valueOf reads it.
func ofLimit(text string, l limiter.Limit) (n int64, ok bool) {
	m := valueOf().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	if n = l.Count; m[3] == "share" {
		n = share(l)
	}
	switch {
	case m[1] != "":
		n += cmp.Or(l.Burst, l.Count)
	case m[2] != "":
		n *= int64(m[2][0] - '0')
	}
	more, _ := strconv.ParseInt(m[4], 10, 64)
	return n + more, true
}

// check says what is wrong with a goal, for a comparison of these candidates.
func (g Goal) check(into []Candidate) error {
	of, other, err := g.candidates(into)
	if err != nil {
		return err
	}
	kind, known := goalKinds[g.Kind]
	if !known {
		return fmt.Errorf("there is no goal %q", g.Kind)
	}
	for _, f := range g.Fates {
		if f != "allow" && f != "deny" {
			return fmt.Errorf("goal: fate %q is neither allow nor deny", f)
		}
	}
	if g.Kind == GoalDisagree && (other < 0 || other == of) {
		return fmt.Errorf("goal disagree: %q is not another one of the algorithms compared", g.Other)
	}
	if g.ValueOf != "" && !valueOf().MatchString(g.ValueOf) {
		return fmt.Errorf("goal %s: %q is no value of the limit: use 2*limit, burst+limit, 3*share and the like", g.Kind, g.ValueOf)
	}
	if !kind.told(g) {
		return fmt.Errorf("goal %s: it does not say how much", g.Kind)
	}
	if g.Say == "" {
		return fmt.Errorf("goal %s: it has no task for the reader (say)", g.Kind)
	}
	return nil
}

// candidates finds which candidates the goal is about; other is -1 where none is named.
func (g Goal) candidates(into []Candidate) (of, other int, err error) {
	find := func(name string) int {
		return slices.IndexFunc(into, func(c Candidate) bool { return c.String() == name })
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
	Then    string          // once reached: what it shows, with the numbers of the run
}

// Progress looks at everything that has happened in a run.
func (g Goal) Progress(r *Run) Progress {
	of, other, err := g.candidates(r.setup.Candidates)
	if err != nil {
		return Progress{Text: "choose the lesson's own algorithms again to go for its goal"}
	}
	switch n := r.setup.Limit.Count; {
	case n == 0 && g.Kind != GoalReadings:
		return Progress{Text: "a limit of 0 only counts: raise it to go for the goal"}
	case n < g.Least:
		return Progress{Text: fmt.Sprintf("the goal cannot be reached under a limit of %d: raise it to %d or more", n, g.Least)}
	}
	g = g.under(r.setup.Limit)
	kind := goalKinds[g.Kind]
	if kind.watch == nil {
		return g.overall(r, of)
	}
	w := watcher{goal: g, of: of, other: other, run: r, facts: facts{run: r, goal: &g}}
	see, text := kind.watch(&w)
	for again := r.walk(of, 0); again.at < r.at && !w.facts.done.Reached; {
		i := again.at
		if a, d, sent := again.next(); sent && (a.Fired || !kind.fired) {
			see(i, a, d)
		}
	}
	if w.facts.done.Text = text(); w.facts.done.Reached {
		w.facts.done.Then = w.facts.fill(g.Then)
	}
	return w.facts.done
}

// Progress returns how far the goal is. What it shows is marked where the run counts in another way than the lesson.
func (l *Lesson) Progress(r *Run) Progress {
	p := l.Goal.Progress(r)
	if p.Reached {
		p.Then = l.otherwise(r, "Under your own terms: ") + p.Then
	}
	return p
}

// overall is the progress of a goal that looks at a run as a whole.
func (g Goal) overall(r *Run, of int) Progress {
	_, more := r.Upcoming()
	var p Progress
	switch g.Kind {
	case GoalSmallest, GoalUnder:
		l := r.setup.Limit.Count
		p.Text = fmt.Sprintf("denied so far under a limit of %d: %d", l, r.Counts(of).Denied)
		p.Reached = !more && l == g.Value
	case GoalMost, GoalCheapest:
		most := collect.If(more, "so far", "in the whole story")
		p.Text = fmt.Sprintf("selected: %s, most %s: %d", r.setup.Candidates[r.selected].Title(), most, r.Counts(r.selected).Largest)
		p.Reached = !more && !g.beats(r, g.Answer(r), r.selected)
	}
	if p.Reached {
		p.At = r.now
		p.Then = facts{run: r, goal: &g, done: p, selected: r.selected}.fill(g.Then)
	}
	return p
}

// Answer returns the candidate that is to be selected after a run, the first of several.
func (g Goal) Answer(r *Run) (best int) {
	for i := range r.runners {
		if g.beats(r, i, best) {
			best = i
		}
	}
	return best
}

// beats reports whether candidate i is nearer to what the goal asks for than another one.
func (g Goal) beats(r *Run, i, other int) bool {
	value := g.under(r.setup.Limit).Value
	switch a, b := r.Counts(i).Largest, r.Counts(other).Largest; {
	case g.Kind == GoalMost:
		return a > b
	case a > value || b > value:
		return a < b
	}
	return r.Bytes(i, r.last()) < r.Bytes(other, r.last()) // later, keys expire
}

// goalKind is what one kind of goal asks for.
type goalKind struct {
	told  func(Goal) bool // whether the goal says how much it wants
	fired bool            // only requests fired by hand count
	watch func(*watcher) (seer, func() string)
}

// seer takes in one request and what became of it.
type seer func(i int, a Arrival, d limiter.Decision)

func hasValue(g Goal) bool  { return g.Value > 0 }
func hasValues(g Goal) bool { return len(g.Values) > 0 }

// goalKinds holds an entry for each kind. Without watch it looks at the run as a whole.
var goalKinds = map[GoalKind]goalKind{
	GoalLargest:    {hasValue, false, (*watcher).largest},
	GoalFates:      {func(g Goal) bool { return len(g.Fates) > 0 }, true, (*watcher).fates},
	GoalSilence:    {func(g Goal) bool { return g.Windows > 0 }, false, (*watcher).silence},
	GoalLockout:    {func(g Goal) bool { return g.Value > 0 && g.Windows > 0 }, true, (*watcher).lockout},
	GoalEstimate:   {hasValues, true, (*watcher).estimate},
	GoalReadings:   {hasValues, false, (*watcher).readings},
	GoalDisagree:   {hasValue, true, (*watcher).disagree},
	GoalFalseDeny:  {hasValue, true, (*watcher).falseDeny},
	GoalUnderLoad:  {hasValue, false, (*watcher).underLoad},
	GoalJustInTime: {func(g Goal) bool { return g.WithinMS > 0 }, true, (*watcher).justInTime},
	GoalSmallest:   {told: hasValue},
	GoalUnder:      {told: hasValue},
	GoalMost:       {told: hasValue},
	GoalCheapest:   {told: hasValue},
}

// watcher goes through a run with a goal in mind. Its methods return what takes in a request, and what says in the end
// where things stand.
type watcher struct {
	goal      Goal
	run       *Run
	of, other int
	facts     facts
}

// reach notes a request with which the goal is reached, if it is.
func (w *watcher) reach(reached bool, a Arrival, d limiter.Decision) {
	if reached {
		w.facts.done.Reached, w.facts.done.At, w.facts.decision = true, a.At, d
	}
}

func (w *watcher) largest() (seer, func() string) {
	var inside ring
	var most int64
	return func(_ int, a Arrival, d limiter.Decision) {
			if d.Allowed {
				n, _ := inside.add(a.At, a.Cost, trueWindow(w.run.setup.Limit, w.run.runners[w.of].convention))
				most = max(most, n)
			}
			w.reach(most >= w.goal.Value, a, d)
		}, func() string {
			return fmt.Sprintf("most in a true window so far: %d, wanted %d", most, w.goal.Value)
		}
}

func (w *watcher) fates() (seer, func() string) {
	var fates []string
	return func(_ int, a Arrival, d limiter.Decision) {
			fates = append(fates, fate[d.Allowed])
			n := len(fates) - len(w.goal.Fates)
			w.reach(n >= 0 && slices.Equal(fates[max(n, 0):], w.goal.Fates), a, d)
		}, func() string {
			return fmt.Sprintf("yours so far: %s · wanted: %s", letters(fates[max(len(fates)-8, 0):]), letters(w.goal.Fates))
		}
}

func (w *watcher) silence() (seer, func() string) {
	var last limiter.Instant // the arrival before; 0 none
	var longest time.Duration
	return func(_ int, a Arrival, d limiter.Decision) {
			if quiet := a.At.Sub(last); a.Fired && last != 0 {
				w.facts.span = quiet
				longest = max(longest, quiet)
				w.reach(!d.Allowed && quiet >= w.goal.lasts(w.run.setup.Limit), a, d)
			}
			last = a.At
		}, func() string {
			return fmt.Sprintf("longest silence before a request of yours: %s of %s", Seconds(longest.Truncate(time.Millisecond)),
				Seconds(w.goal.lasts(w.run.setup.Limit)))
		}
}

func (w *watcher) lockout() (seer, func() string) {
	var row, most int64
	var since limiter.Instant // the first denial in a row
	return func(_ int, a Arrival, d limiter.Decision) {
			if row++; d.Allowed {
				row = 0
			} else if row == 1 {
				since = a.At
			}
			w.facts.row, w.facts.span = row, a.At.Sub(since)
			most = max(most, row)
			w.reach(row >= w.goal.Value && a.At.Sub(since) >= w.goal.lasts(w.run.setup.Limit), a, d)
		}, func() string {
			return fmt.Sprintf("denied in a row so far: %d of %d", most, w.goal.Value)
		}
}

// estimate looks at the latest request alone: one burst through the estimate is no aim at it.
func (w *watcher) estimate() (seer, func() string) {
	var last Arrival
	hit := false
	return func(_ int, a Arrival, d limiter.Decision) {
			diff := d.Estimate - w.goal.Values[0]
			hit = d.Allowed && diff < 0.05 && diff > -0.05 && (w.goal.Value == 0 || d.Current == w.goal.Value)
			last, w.facts.decision = a, d
		}, func() string {
			w.reach(hit, last, w.facts.decision)
			return fmt.Sprintf("estimate after your last request: %s, wanted %s", Number(w.facts.decision.Estimate),
				Number(w.goal.Values[0]))
		}
}

// count reaches the goal with so many requests as it names.
func (w *watcher) count(counts func(i int, d limiter.Decision) bool, text func(n int64) string) (seer, func() string) {
	var n int64
	return func(i int, a Arrival, d limiter.Decision) {
		if counts(i, d) {
			n++
		}
		w.reach(n >= w.goal.Value, a, d)
	}, func() string { return text(n) }
}

func (w *watcher) disagree() (seer, func() string) {
	return w.count(func(i int, d limiter.Decision) bool { return d.Allowed && !w.run.verdicts[i].Allowed(w.other) }, func(n int64) string {
		return fmt.Sprintf("%d of %d: %s admitted what %s denied", n, w.goal.Value, w.run.setup.Candidates[w.of].Title(),
			w.run.setup.Candidates[w.other].Title())
	})
}

func (w *watcher) falseDeny() (seer, func() string) {
	return w.count(func(i int, d limiter.Decision) bool { return !d.Allowed && w.run.verdicts[i].Wrong(w.of) }, func(n int64) string {
		return fmt.Sprintf("wrongly denied so far: %d of %d", n, w.goal.Value)
	})
}

// underLoad counts the denials of the last window before an admitted request.
func (w *watcher) underLoad() (seer, func() string) {
	var denials []limiter.Instant
	return func(_ int, a Arrival, d limiter.Decision) {
			denials = slices.DeleteFunc(denials, func(at limiter.Instant) bool { return a.At.Sub(at) >= w.run.setup.Limit.Window })
			if !d.Allowed {
				denials = append(denials, a.At)
			}
			w.facts.row = int64(len(denials))
			w.reach(d.Allowed && a.Fired && w.facts.row >= w.goal.Value, a, d)
		}, func() string {
			return fmt.Sprintf("denied in the last window: %d; one of yours has to get through at %d or more", len(denials), w.goal.Value)
		}
}

func (w *watcher) justInTime() (seer, func() string) {
	var slot limiter.Instant       // when the request denied last would be admitted
	var waited, late time.Duration // what it was told to wait, and how long after its slot the next one was admitted
	return func(_ int, a Arrival, d limiter.Decision) {
			if slot != 0 && d.Allowed {
				late = a.At.Sub(slot)
				w.facts.span, d.RetryAfter = late, waited
				w.reach(late >= 0 && late <= millis(w.goal.WithinMS), a, d)
			}
			slot = 0
			if !d.Allowed && d.RetryAfter != limiter.Never {
				slot, waited = a.At.Add(d.RetryAfter), d.RetryAfter
			}
		}, func() string {
			switch {
			case slot != 0:
				return "denied; your slot frees at " + w.run.setup.clock(slot)
			case late > 0:
				return fmt.Sprintf("admitted %s after its slot, wanted within %s: get one denied again",
					Seconds(late), Seconds(millis(w.goal.WithinMS)))
			}
			return "get one denied first"
		}
}

// readings follows what is used through every moment at which it can change: when a
// request arrives and when one leaves.
func (w *watcher) readings() (seer, func() string) {
	var moments []limiter.Instant
	return func(_ int, a Arrival, _ limiter.Decision) {
			leaves := a.At.Add(w.run.setup.Limit.Window)
			moments = append(moments, a.At, leaves, leaves+1)
		}, func() string {
			slices.Sort(moments)
			walk := NewRun(w.run.setup.Clone(), &Workload{made: w.run.workload.made[:w.run.at:w.run.at], done: true})
			got, last := 0, -1.0
			var seen []string
			for _, at := range append(moments, w.run.now) {
				if at > w.run.now {
					continue
				}
				walk.reach(at, 0)
				used := float64(walk.Ask(w.of, 0).Decision.Used)
				if used != last {
					seen, last = append(seen, Number(used)), used
				}
				if used == w.goal.Values[got] {
					if got++; got == len(w.goal.Values) {
						w.reach(true, Arrival{At: at}, limiter.Decision{})
						break
					}
				}
			}
			return fmt.Sprintf("it read %s · wanted, in this order: %s", strings.Join(seen[max(0, len(seen)-8):], " "),
				strings.Join(collect.Map(w.goal.Values, Number), " "))
		}
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

var fate = map[bool]string{true: "allow", false: "deny"}

// letters writes fates as marks.
func letters(fates []string) string {
	return cmp.Or(strings.NewReplacer("allow", "✓", "deny", "✖").Replace(strings.Join(fates, " ")), "none")
}
