package lab

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/keymap"
	"ratescope/tui/widget"
)

// Class is the room that a lab belongs to: its teacher's or a student's side of it.
// Implementations are safe for concurrent use.
type Class interface {
	Teaches() bool
	People() []string
	Driving() bool
	Drive(on bool) error
	// Show hands the moment on the teacher's screen to the students.
	Show(line string)
	// Predict keeps what a student predicts, Predictions counts what all do.
	Predict(question string, admitted bool)
	Predictions(question string) (admitted, denied int)
}

// FollowMsg shows a student the moment on the teacher's screen; without a line it frees.
type FollowMsg struct{ Line string }

// relayedMsg is a message that came from outside the program.
type relayedMsg struct{ msg tea.Msg }

// relay waits for the next message from outside.
func (s *Screen) relay() tea.Cmd {
	if s.messages == nil {
		return nil
	}
	ctx := s.Context()
	return func() tea.Msg {
		select {
		case msg := <-s.messages:
			return relayedMsg{msg}
		case <-ctx.Done():
			return nil
		}
	}
}

// relayed takes a message from outside and waits for the next one.
func (s *Screen) relayed(msg tea.Msg) tea.Cmd {
	if f, ok := msg.(FollowMsg); ok {
		s.followTeacher(f)
		return s.relay()
	}
	return tea.Batch(func() tea.Msg { return msg }, s.relay())
}

// followTeacher shows the teacher's moment.
func (s *Screen) followTeacher(f FollowMsg) {
	s.Redraw()
	if f.Line == "" {
		if s.following {
			s.Say("The teacher frees you: the clock is yours.")
		}
		s.following = false
		return
	}
	m, err := lab.ReadShared(f.Line)
	if err == nil {
		if m.View == "quiz" && s.shows("quiz") && s.following { // the question stays as it is answered
			return
		}
		err = s.openShared(m)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.following = true
}

// showEvery is how often students get the teacher's moment at most.
const showEvery = 400 * time.Millisecond

// teach shows the students what is on screen, while the class is driven.
func (s *Screen) teach(now time.Time) {
	if s.class == nil || !s.class.Teaches() || !s.class.Driving() || now.Sub(s.taught) < showEvery {
		return
	}
	s.taught = now
	if line, err := s.moment().Line(); err == nil {
		s.class.Show(line)
	}
}

// classKeys are the teacher's.
func (s *Screen) classKeys() keymap.Actions {
	if s.class == nil || !s.class.Teaches() {
		return nil
	}
	return keymap.Actions{keymap.New("class", "drive", "F", "drives the class, or frees it", func() tea.Cmd {
		on := !s.class.Driving()
		if err := s.class.Drive(on); err != nil {
			s.fail(err)
		} else if on {
			s.Say("The class sees your screen. F frees it.")
		} else {
			s.Say("The class is free.")
		}
		return nil
	}, "F").Hinted("drive")}
}

// classWords is what the header says of the class; "" outside one.
func (s *Screen) classWords() string {
	switch {
	case s.class == nil:
		return ""
	case !s.class.Teaches() && s.following:
		return "with the teacher"
	case !s.class.Teaches():
		return ""
	case s.class.Driving():
		return fmt.Sprintf("%d in class, driven", len(s.class.People()))
	}
	return fmt.Sprintf("%d in class", len(s.class.People()))
}

// paintPredictions draws what the class predicts of a question, as bars.
func (p painter) paintPredictions(r cell.Rect, question string) {
	if p.class == nil || !p.class.Teaches() || r.H < 3 {
		return
	}
	admitted, denied := p.class.Predictions(question)
	p.Buffer.Text(r.X, r.Y, r.X+r.W, fmt.Sprintf("class: %d of %d", admitted+denied, len(p.class.People())), p.Look.Title)
	most := float64(max(admitted, denied, 1))
	for i, row := range []struct {
		name  string
		n     int
		style widget.Span
	}{{"admitted", admitted, widget.Span{Style: p.Look.Admitted}}, {"denied", denied, widget.Span{Style: p.Look.Denied}}} {
		y := r.Y + 1 + i
		p.Buffer.Text(r.X, y, r.X+9, row.name, p.Look.Dim)
		p.Buffer.Right(r.X+9, y, r.X+12, fmt.Sprint(row.n), p.Look.Text)
		chart.Bar(&p.Buffer, r.X+13, y, max(r.W-13, 0), most, p.Look.Glyphs, chart.Segment{Value: float64(row.n), Style: row.style.Style})
	}
}
