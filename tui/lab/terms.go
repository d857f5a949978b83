package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
)

// term is one thing that can be switched while the story goes on.
type term struct {
	name, value string
	turn        func(by int) tea.Cmd
}

// terms lists what can be changed: the limit, the conventions, the traffic, and who is
// compared.
func (l *Lab) terms() []term {
	s := l.run.Setup()
	set := func(f func(*lab.Setup)) tea.Cmd {
		c := l.run.Setup()
		f(&c)
		return l.change(c)
	}
	words := lab.Words(s.Convention)
	switchOf := func(name string, f func(*limiter.Convention, int)) term {
		return term{name, words[name], func(by int) tea.Cmd { return set(func(c *lab.Setup) { f(&c.Convention, by) }) }}
	}
	list := []term{
		{"limit", fmt.Sprint(s.Limit.Count), func(by int) tea.Cmd { return set(func(c *lab.Setup) { c.Limit.Count = scaled(c.Limit.Count, by, 0) }) }},
		{"window", figure.Length(s.Limit.Window), func(by int) tea.Cmd { return set(func(c *lab.Setup) { c.Limit.Window = longer(c.Limit.Window, by) }) }},
		{"burst", burstText(s), func(by int) tea.Cmd { return set(func(c *lab.Setup) { c.Limit.Burst = scaled(c.Limit.Burst, by, 0) }) }},
		{"cost", fmt.Sprint(max(s.Cost, 1)), func(by int) tea.Cmd { return set(func(c *lab.Setup) { c.Cost = scaled(max(c.Cost, 1), by, 1) }) }},
		switchOf("edge", func(c *limiter.Convention, by int) { c.Edge = cycle(c.Edge, by, 2) }),
		switchOf("alignment", func(c *limiter.Convention, by int) { c.Alignment = cycle(c.Alignment, by, 2) }),
		switchOf("rounding", func(c *limiter.Convention, by int) { c.Rounding = cycle(c.Rounding, by, 3) }),
		switchOf("rule", func(c *limiter.Convention, by int) { c.Rule = cycle(c.Rule, by, 2) }),
		switchOf("denied", func(c *limiter.Convention, by int) { c.Denied = cycle(c.Denied, by, 2) }),
		switchOf("refill", func(c *limiter.Convention, by int) { c.Refill = cycle(c.Refill, by, 2) }),
		{"traffic", l.trafficName(), l.nextTraffic},
	}
	if l.keys() > 1 {
		list = append(list, term{"whose requests", l.keyName(), l.nextKey})
	}
	for _, a := range limiter.Algorithms() {
		list = append(list, l.algorithmTerm(lab.Contender{Algorithm: a}, s))
	}
	for _, c := range l.at().Into { // variants and faults of the lesson
		if c.Variant != "" || c.Fault != lab.NoFault {
			list = append(list, l.algorithmTerm(c, s))
		}
	}
	return list
}

// meanings say what the values of conventions mean, for who is about to switch one.
var meanings = map[string]string{
	"half-open":     "half-open: a request exactly one window old has left the window.",
	"closed":        "closed: a request exactly one window old still counts.",
	"epoch":         "epoch: windows begin at multiples of their length, for every key alike.",
	"first-request": "first-request: a window begins with the first request that finds none.",
	"floor":         "floor: what is left of the previous window is rounded down.",
	"exact":         "exact: what is left of the previous window keeps its fraction.",
	"round":         "round: what is left of the previous window is rounded to the nearest.",
	"fits":          "fits: admitted while used + cost <= limit.",
	"below":         "below: admitted while used < limit, whatever the cost.",
	"free":          "free: a denied request changes nothing.",
	"charged":       "charged: a denied request is counted too.",
	"greedy":        "greedy: one token comes back every W/L.",
	"interval":      "interval: L tokens come back at once, every W.",
}

// selectedTerm is the value of the term that is selected.
func (l *Lab) selectedTerm() string {
	list := l.terms()
	return list[min(l.row, len(list)-1)].value
}

// algorithmTerm puts a contender in or takes it out.
func (l *Lab) algorithmTerm(c lab.Contender, s lab.Setup) term {
	at := slices.Index(s.Contenders, c)
	value := "off"
	if at >= 0 {
		value = "compared"
	}
	return term{title(c), value, func(int) tea.Cmd {
		next := l.run.Setup()
		switch {
		case at < 0 && len(next.Contenders) >= lab.MaxContenders:
			l.say(true, fmt.Sprintf("Six algorithms are compared already: take one out before adding %s.", c))
			return nil
		case at < 0:
			next.Contenders = append(next.Contenders, c)
		case len(next.Contenders) == 1:
			l.say(true, "One algorithm has to stay: add another one first.")
			return nil
		default:
			next.Contenders = slices.Delete(next.Contenders, at, at+1)
		}
		return l.change(next)
	}}
}

func cycle[T ~uint8](v T, by, n int) T { return T((int(v) + by + n) % n) }

// scaled moves a count one step up or down: by ones to twenty, then on the steps of scales.
func scaled(n int64, by int, least int64) int64 {
	switch {
	case by > 0 && n >= 20:
		return min(chart.Nice(n+1), 1_000_000)
	case by > 0:
		return n + 1
	case n > 20:
		for m := n - 1; ; m -= max(n/200, 1) {
			if chart.Nice(m) < n {
				return chart.Nice(m)
			}
		}
	}
	return max(n-1, least)
}

// longer moves a window one step up or down.
func longer(w time.Duration, by int) time.Duration {
	windows := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
		10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 24 * time.Hour}
	at, _ := slices.BinarySearch(windows, w)
	return windows[min(max(at+by, 0), len(windows)-1)]
}

func burstText(s lab.Setup) string {
	if s.Limit.Burst == 0 {
		return "as the limit"
	}
	return fmt.Sprint(s.Limit.Burst)
}

func (l *Lab) paintTerms() {
	list := l.terms()
	in := l.Overlay(66, len(list)+2, "terms", "←→ changes · esc closes")
	top := max(min(l.row-in.H/2, len(list)-in.H), 0)
	for row := range in.H {
		i := top + row
		if i >= len(list) {
			return
		}
		ground, y := l.Look.Raised, in.Y+row
		if i == l.row {
			ground = l.Look.Selected
			l.Grid.Fill(in.X-1, y, in.W+2, ' ', l.Look.Text.On(ground))
			l.Grid.Text(in.X-1, y, in.X, l.Look.SelMark, l.Look.Accent.On(ground))
		}
		st := l.Look.Title
		if list[i].value == "off" {
			st = l.Look.Dim
		}
		l.Grid.Text(in.X+1, y, in.X+36, list[i].name, l.Look.Text.On(ground))
		l.Grid.Text(in.X+37, y, in.X+in.W, list[i].value, st.On(ground))
		l.Zone(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, func(int) tea.Cmd {
			l.row = i
			return list[i].turn(1)
		})
	}
}

// change puts the run under another setup at the same moment. Traffic that reacts to the
// limiter is made anew.
func (l *Lab) change(s lab.Setup) tea.Cmd {
	if err := s.Validate(); err != nil {
		l.say(true, strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
		return nil
	}
	l.focus = min(l.focus, len(s.Contenders)-1)
	if s.Limit.Window != l.run.Setup().Limit.Window || slices.ContainsFunc(l.traffic, func(t lab.Traffic) bool { return t.Model == lab.Retry || t.Model == lab.Adversary }) {
		return l.again(s)
	}
	now := l.run.Now()
	l.run.Restart(s)
	return l.set(now, nil)
}

// again makes the traffic anew under a setup and returns to the same moment, with what
// was fired by hand.
func (l *Lab) again(s lab.Setup) tea.Cmd {
	now := l.run.Now()
	var fired []lab.Arrival
	for i := range l.run.Decided() {
		if a, _ := l.run.Arrival(i); a.Fired {
			fired = append(fired, a)
		}
	}
	s.Zero = l.run.Setup().Zero
	tape, err := l.tape(s)
	if err != nil {
		l.say(true, "The traffic cannot be made: "+err.Error()+".")
		return nil
	}
	l.run = lab.NewRun(s, tape)
	return l.set(now, fired)
}

// set returns to a moment from the beginning, after something about the run has changed.
func (l *Lab) set(now limiter.Instant, fired []lab.Arrival) tea.Cmd {
	l.progress.known, l.stale, l.ask = false, true, nil
	return l.travel(now, fired)
}
