package lab

import (
	"cmp"
	_ "embed" // of meanings.txt
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// term is one thing that can be switched while the story goes on.
type term struct {
	name, value string
	turn        func(by int) tea.Cmd
}

// termsOverlay is the list of terms with their values.
type termsOverlay struct {
	s   *Screen
	row int
}

// showTerms opens the list: at the traffic in a lesson that has its own, for that is what its text is about.
func showTerms(s *Screen) {
	first := collect.If(len(s.at().Traffic) > 0, "traffic", "limit")
	s.app.Open(&termsOverlay{s, slices.IndexFunc(adjustable(s), func(one term) bool { return one.name == first })})
}

// Update selects a term and changes it.
func (o *termsOverlay) Update(msg tea.Msg) (tea.Cmd, bool) {
	list := adjustable(o.s)
	rows := len(list)
	o.row = min(o.row, rows-1)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		o.row = min(max(o.row+shell.Wheel(msg), 0), rows-1)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k":
			o.row = (o.row + rows - 1) % rows
		case "down", "j":
			o.row = (o.row + 1) % rows
		case "left", "h", "-":
			return list[o.row].turn(-1), true
		case "right", "l", "space", "+", "=", "enter":
			return list[o.row].turn(1), true
		case "esc", "q", "w":
			if o.s.shows("quiz") {
				o.s.show("quiz") // anew, where the terms have changed
			}
			return nil, false
		}
	}
	return nil, true
}

// Paint draws the list beside the lanes, or below them where it would cover most of them, and what the selected value means.
func (o *termsOverlay) Paint(p *widget.Canvas, footer cell.Rect) {
	list := adjustable(o.s)
	at := min(o.row, len(list)-1)
	r := cell.Rect{W: min(66, p.Buffer.W-2), H: min(len(list)+2, p.Buffer.H-2)}
	if r.X, r.Y = p.Buffer.W-r.W-1, (p.Buffer.H-r.H)/2; p.Buffer.W < 2*r.W {
		r.W, r.H = p.Buffer.W-2, min(r.H, whyRows(p)+1)
		r.X, r.Y = 1, p.Buffer.H-r.H-1
	}
	in := p.Panel(r, "what if", fmt.Sprintf("%d of %d · ↑↓ selects · ←→ changes · esc closes", at+1, len(list)))
	top := max(min(at-in.H/2, len(list)-in.H), 0)
	for row := range in.H {
		i := top + row
		if i >= len(list) {
			break
		}
		st, y := collect.If(list[i].value == "off", p.Look.Dim, p.Look.Title), in.Y+row
		p.Buffer.Text(in.X+1, y, in.X+36, list[i].name, p.Look.Text.On(p.Look.Raised))
		p.Buffer.Text(in.X+37, y, in.X+in.W, list[i].value, st.On(p.Look.Raised))
		if i == at {
			p.Buffer.Text(in.X-1, y, in.X, p.Look.SelMark, p.Look.Accent)
			p.Buffer.Tint(cell.Rect{X: in.X - 1, Y: y, W: in.W + 2, H: 1}, p.Look.Selected)
		}
		p.OnClick(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, func(int) tea.Cmd {
			o.row = i
			return list[i].turn(1)
		})
	}
	if value := list[at].value; format.Line(meanings, value) != "" {
		p.Buffer.Clear(footer)
		meaning := value + ": " + format.Line(meanings, value)
		p.Buffer.Text(footer.X+1, footer.Y, footer.X+footer.W, safetext.Clip(meaning, footer.W-2, safetext.Ellipsis), p.Look.Text)
	}
}

// adjustable is what can be changed: the limit, the conventions, the traffic, and who is
// compared.
func adjustable(s *Screen) []term {
	setup := s.run.Setup()
	one := func(name, value string, f func(c *lab.Setup, by int)) term {
		return term{name, value, func(by int) tea.Cmd {
			c := s.run.Setup()
			f(&c, by)
			return apply(s, c)
		}}
	}
	burst := "as the limit"
	if n := setup.Limit.Burst; n > 0 {
		burst = fmt.Sprint(n)
	}
	list := []term{
		one("limit", fmt.Sprint(setup.Limit.Count), func(c *lab.Setup, by int) { c.Limit.Count = scaled(c.Limit.Count, by, 0) }),
		one("window", format.Length(setup.Limit.Window), func(c *lab.Setup, by int) { c.Limit.Window = longer(c.Limit.Window, by) }),
		one("burst", burst, func(c *lab.Setup, by int) { c.Limit.Burst = scaled(cmp.Or(c.Limit.Burst, c.Limit.Count), by, 0) }),
		one("cost", fmt.Sprint(max(setup.Cost, 1)), func(c *lab.Setup, by int) { c.Cost = scaled(max(c.Cost, 1), by, 1) }),
	}
	for i, v := range scenario.Variants(&setup.Convention) {
		list = append(list, one(v.Name, v.Word(), func(c *lab.Setup, by int) { scenario.Variants(&c.Convention)[i].Turn(by) }))
	}
	list = append(list, term{"traffic", s.trafficName(), func(by int) tea.Cmd { return nextTraffic(s, by) }})
	if s.keyCount() > 1 {
		list = append(list, term{"whose requests", keyName(&s.story), func(by int) tea.Cmd { return nextKey(s, by) }})
	}
	for _, a := range limiter.Algorithms() {
		list = append(list, algorithm(s, lab.Candidate{Algorithm: a}, setup))
	}
	for _, c := range s.at().Into { // variants and faults of the lesson
		if c.Variant != "" || c.Fault != lab.NoFault || c.Scripted() {
			list = append(list, algorithm(s, c, setup))
		}
	}
	return list
}

// algorithm puts a candidate in or takes it out.
func algorithm(s *Screen, c lab.Candidate, setup lab.Setup) term {
	at := slices.Index(setup.Candidates, c)
	return term{c.Title(), collect.If(at >= 0, "compared", "off"), func(int) tea.Cmd {
		next := s.run.Setup()
		switch {
		case at < 0 && len(next.Candidates) >= lab.MaxCandidates:
			return s.app.Warn(fmt.Sprintf("%d algorithms are compared already: take one out before adding %s.", lab.MaxCandidates, c))
		case at < 0:
			next.Candidates = append(next.Candidates, c)
		case len(next.Candidates) == 1:
			return s.app.Warn("One algorithm has to stay: add another one first.")
		default:
			next.Candidates = slices.Delete(next.Candidates, at, at+1)
		}
		return apply(s, next)
	}}
}

// nextTraffic puts the next traffic in place of the present one, from the beginning of
// the story on.
func nextTraffic(s *Screen, by int) tea.Cmd {
	list := s.streams()
	next := list[(max(s.on(list), 0)+by+len(list))%len(list)]
	s.traffic, s.recorded, s.key = slices.Clone(next.list), next.recorded, 0
	return apply(s, s.run.Setup())
}

// nextKey looks at the requests of the next key alone, or after the last one at all of
// them together.
func nextKey(s *Screen, by int) tea.Cmd {
	n := s.keyCount() + 1
	s.key = int32((int(s.key)+1+by+n)%n) - 1
	return apply(s, s.run.Setup())
}

// apply puts the run under another setup and says what is wrong with it if that fails.
func apply(s *Screen, setup lab.Setup) tea.Cmd {
	cmd, err := s.again(setup)
	if err != nil {
		s.fail(err)
		return nil
	}
	s.renew()
	return cmd
}

// meanings say what the values of conventions mean.
//
//go:embed meanings.txt
var meanings string

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
	at, _ := slices.BinarySearch(chart.TimeSteps[:], w)
	to := chart.TimeSteps[min(max(at+by, 0), len(chart.TimeSteps)-1)]
	return min(max(to, 100*time.Millisecond), 24*time.Hour)
}
