package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// tour shows what the dashboard can do in a minute: it goes from picture to picture of the running screens
// and says in a sentence or two what is to be seen. Any key ends it. It is an overlay over the screens of a
// session.
type tour struct {
	s *session.Session

	at    int       // the stop that is shown
	since time.Time // when it began, on this machine's clock; zero before the first tick
}

// stop is one picture of the tour: what it says, and what it does when it begins.
type stop struct {
	lasts time.Duration
	say   string
	where place
	do    func(s *session.Session) tea.Cmd // may be nil
}

// place is where on the screen a stop stands: not over what it speaks of.
type place uint8

const (
	atBottom  place = iota
	overTable       // of the dashboard
)

var stops = [...]stop{
	{7 * time.Second, "Every row is a key with a limit: what is used of it, how fast, and when the next request is admitted. Red is " +
		"denied, amber is near; the rest is at ease.", atBottom, nil},
	{8 * time.Second, "The timeline is of the selected key. Time runs to the right; where now ends begins the ribbon of the future: would " +
		"one more request be admitted then?", overTable, pickSliding},
	{8 * time.Second, "The bracket is the window that counts. Of the window before this one only the share counts that the bracket still " +
		"covers; the sum stands below, against the limit.", overTable, nil},
	{8 * time.Second, "A burst of ten is fired at the key now: watch the sum rise, and what the limit does not admit pile up as denied.",
		overTable, fireBurst},
	{7 * time.Second, "p pauses, and the arrows go back in time: every figure on screen is of that moment. Collecting goes on underneath.",
		overTable, lookBack},
	{6 * time.Second, "2 shows many keys at once, 6 every key over time: a row each, with colour for how much of its limit was used.",
		atBottom, func(s *session.Session) tea.Cmd { goOn(s); return s.Shell.Show("heat") }},
	{6 * time.Second, "5 lists what happened, 4 how the Redis behind it does, and what watching it costs.", atBottom,
		func(s *session.Session) tea.Cmd { return s.Shell.Show("events") }},
	{6 * time.Second, "3 is the lab: the algorithms side by side on a clock in your hand, with lessons. It needs no Redis.", atBottom,
		func(s *session.Session) tea.Cmd { return s.Shell.Show("lab") }},
	{4 * time.Second, "That was the tour. ? lists the keys, : finds anything by its name, q quits.", atBottom,
		func(s *session.Session) tea.Cmd { return s.Shell.Show("dashboard") }},
}

// Update ends the tour at any key.
func (t *tour) Update(msg tea.Msg) (tea.Cmd, bool) {
	if _, pressed := msg.(tea.KeyPressMsg); !pressed {
		return nil, true
	}
	return t.end("The tour is over: ? lists the keys, : finds anything by its name, q quits."), false
}

// end leaves the screen as a person finds it at the start.
func (t *tour) end(text string) tea.Cmd {
	t.s.Orders.Stop()
	goOn(t.s)
	cmd := t.s.Shell.Show("dashboard")
	t.s.Shell.Say(text)
	return cmd
}

// Tick goes on to the next stop when the time of one has passed. With open false the tour is
// over.
func (t *tour) Tick(now time.Time) (cmd tea.Cmd, open bool) {
	switch {
	case !t.s.Shown.Started():
		return nil, true
	case t.since.IsZero():
		t.since = now
		return nil, true
	case now.Sub(t.since) < stops[t.at].lasts:
		return nil, true
	case t.at == len(stops)-1:
		return t.end(stops[t.at].say), false
	}
	t.at, t.since = t.at+1, now
	if do := stops[t.at].do; do != nil {
		return do(t.s), true
	}
	return nil, true
}

// Paint writes what is to be seen over a part of the screen that it does not speak of.
func (t *tour) Paint(p *widget.Canvas, footer cell.Rect) {
	const widest, sides = 96, 4
	here := &stops[t.at]
	w := min(widest, footer.W-2)
	x, table := footer.X+(footer.W-w)/2, here.where == overTable
	if table && p.Framed {
		x, w = footer.X+2, footer.W/2
	}
	lines := format.Wrap(here.say, w-sides)
	r := cell.Rect{X: x, Y: footer.Y - len(lines) - 2, W: w, H: len(lines) + 2}
	switch {
	case table && p.Framed: // the lower half of the table, which few keys leave free
		r.Y = footer.Y/2 - len(lines)
	case table:
		r.Y = t.s.HeaderRows() + 1
	}
	in := p.Panel(r, fmt.Sprintf("tour %d of %d", t.at+1, len(stops)), "any key ends the tour")
	for i, l := range lines {
		p.Buffer.Text(in.X, in.Y+i, in.X+in.W, l, p.Look.Text.On(p.Look.Raised))
	}
}

// Modal is false: rows can be clicked meanwhile.
func (t *tour) Modal() bool { return false }

// pickSliding selects a key of the algorithm that has most to show.
func pickSliding(s *session.Session) tea.Cmd {
	for _, k := range s.Rows.Rows() {
		if k.Reading.Target.Algorithm == limiter.SlidingWindow && k.Reading.Target.Window <= 30*time.Second {
			s.Selection.Pick(k.Reading.Key)
			break
		}
	}
	return nil
}

// fireBurst fires ten requests at the selected key where firing is possible.
func fireBurst(s *session.Session) tea.Cmd {
	if s.Orders.CanFire() != "" {
		return nil
	}
	return s.Orders.Fire(model.Order{N: 10})
}

// lookBack pauses and goes back in time.
func lookBack(s *session.Session) tea.Cmd {
	if !s.Shown.Paused() {
		s.Pause()
	}
	for range 3 {
		s.Scroll(true)
	}
	s.Shell.Redraw()
	return nil
}

// goOn ends the pause.
func goOn(s *session.Session) {
	if s.Shown.Paused() {
		s.Pause()
	}
}
