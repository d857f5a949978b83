package lab

import (
	"fmt"
	"slices"
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
	turn        func(by int)
}

// terms lists what can be changed: the limit, the conventions, the traffic, and who is
// compared.
func (l *Lab) terms() []term {
	s := l.run.Setup()
	set := func(f func(*lab.Setup)) {
		c := l.run.Setup()
		f(&c)
		l.change(c)
	}
	words := lab.Words(s.Convention)
	switchOf := func(name string, f func(*limiter.Convention, int)) term {
		return term{name, words[name], func(by int) { set(func(c *lab.Setup) { f(&c.Convention, by) }) }}
	}
	list := []term{
		{"limit", fmt.Sprint(s.Limit.Count), func(by int) { set(func(c *lab.Setup) { c.Limit.Count = scaled(c.Limit.Count, by, 0) }) }},
		{"window", figure.Length(s.Limit.Window), func(by int) { set(func(c *lab.Setup) { c.Limit.Window = longer(c.Limit.Window, by) }) }},
		{"burst", burstText(s), func(by int) { set(func(c *lab.Setup) { c.Limit.Burst = scaled(c.Limit.Burst, by, 0) }) }},
		{"cost", fmt.Sprint(max(s.Cost, 1)), func(by int) { set(func(c *lab.Setup) { c.Cost = scaled(max(c.Cost, 1), by, 1) }) }},
		switchOf("edge", func(c *limiter.Convention, by int) { c.Edge = cycle(c.Edge, by, 2) }),
		switchOf("alignment", func(c *limiter.Convention, by int) { c.Alignment = cycle(c.Alignment, by, 2) }),
		switchOf("rounding", func(c *limiter.Convention, by int) { c.Rounding = cycle(c.Rounding, by, 3) }),
		switchOf("rule", func(c *limiter.Convention, by int) { c.Rule = cycle(c.Rule, by, 2) }),
		switchOf("denied", func(c *limiter.Convention, by int) { c.Denied = cycle(c.Denied, by, 2) }),
		switchOf("refill", func(c *limiter.Convention, by int) { c.Refill = cycle(c.Refill, by, 2) }),
		{"traffic", l.trafficName(), l.nextTraffic},
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

// algorithmTerm puts a contender in or takes it out.
func (l *Lab) algorithmTerm(c lab.Contender, s lab.Setup) term {
	at := slices.Index(s.Contenders, c)
	value := "off"
	if at >= 0 {
		value = "compared"
	}
	return term{title(c), value, func(int) {
		next := l.run.Setup()
		switch {
		case at < 0 && len(next.Contenders) >= lab.MaxContenders:
			l.say(true, fmt.Sprintf("Six algorithms are compared already: take one out before adding %s.", c))
			return
		case at < 0:
			next.Contenders = append(next.Contenders, c)
		case len(next.Contenders) == 1:
			l.say(true, "One algorithm has to stay: add another one first.")
			return
		default:
			next.Contenders = slices.Delete(next.Contenders, at, at+1)
		}
		l.change(next)
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

// traffics are the streams that can be put in the place of a lesson's, for a limit.
func traffics(s lab.Setup) []struct {
	name string
	list []lab.Traffic
} {
	ms := float64(s.Limit.Window) / float64(time.Millisecond)
	n := float64(max(s.Limit.Count, 1))
	perSecond := min(n/s.Limit.Window.Seconds(), 10_000)
	return []struct {
		name string
		list []lab.Traffic
	}{
		{"none", nil},
		{"poisson, 1.2 × the limit", []lab.Traffic{{Model: lab.Poisson, PerSecond: 1.2 * perSecond}}},
		{"steady, 1.2 × the limit", []lab.Traffic{{Model: lab.Steady, EveryMS: ms / n / 1.2}}},
		{"on and off", []lab.Traffic{{Model: lab.OnOff, PerSecond: 3 * perSecond, OnMS: 1 + ms*0.4, OffMS: ms * 0.8}}},
		{"cron bursts", []lab.Traffic{{Model: lab.Cron, EveryMS: ms / 2, PhaseMS: ms / 4, Burst: int(min(n*0.7+1, 10_000)), SpreadMS: ms / 20}}},
		{"one key of twenty (zipf)", []lab.Traffic{{Model: lab.Zipf, PerSecond: min(3*perSecond, 50_000), Keys: 20}}},
		{"end-of-window adversary", []lab.Traffic{{Model: lab.Adversary, SpreadMS: ms / 100}}},
		{"retry storm", []lab.Traffic{{Model: lab.Retry, Clients: int(min(3*n, 300)), PerSecond: perSecond / n, RetryMS: 1 + ms/20}}},
		{"retries with backoff", []lab.Traffic{{Model: lab.Retry, Clients: int(min(3*n, 300)), PerSecond: perSecond / n, RetryMS: 1 + ms/20, Backoff: true}}},
	}
}

// trafficName says what comes by itself.
func (l *Lab) trafficName() string {
	if l.recorded {
		return "recorded"
	}
	for _, t := range traffics(l.run.Setup()) {
		if slices.Equal(t.list, l.traffic) && (len(t.list) > 0 || len(l.at().Traffic) == 0) {
			return t.name
		}
	}
	if slices.Equal(l.traffic, l.at().Traffic) {
		return "the lesson's"
	}
	if len(l.traffic) == 0 {
		return "none"
	}
	return string(l.traffic[0].Model)
}

// nextTraffic puts the next traffic in place of the present one, from the beginning of
// the story on.
func (l *Lab) nextTraffic(by int) {
	s := l.run.Setup()
	list := traffics(s)
	if len(l.at().Traffic) > 0 {
		list = append(list, struct {
			name string
			list []lab.Traffic
		}{"the lesson's", l.at().Traffic})
	}
	n := len(list)
	if l.o.Trace != nil {
		n++
	}
	at := slices.IndexFunc(list, func(t struct {
		name string
		list []lab.Traffic
	}) bool {
		return slices.Equal(t.list, l.traffic)
	})
	if l.recorded {
		at = len(list)
	}
	at = (at + by + n) % n
	l.recorded = at == len(list)
	if !l.recorded {
		l.traffic = slices.Clone(list[at].list)
	}
	l.again(s)
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
			list[i].turn(1)
			return nil
		})
	}
}
