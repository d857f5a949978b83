package lab

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// studentsName is the name of the view that the teacher alone has.
const studentsName = "students"

// studentsView is who is in class and where, and what they reached and missed.
type studentsView struct {
	plain
	now      Register  // as last laid out
	people   []Student // those who were removed at the end
	selected int       // the Number of the student that is selected; 0 is none
	first    int       // the row on top
}

func newStudentsView(s *Screen) *studentsView {
	v := &studentsView{plain: plain{title: studentsName}}
	one := func() string {
		switch {
		case len(v.people) == 0:
			return "There are no students in class."
		case !v.chosen():
			return "No student is selected: ↑ and ↓ select one."
		}
		return ""
	}
	to := func(name, shown, what string, f func(Student), keys ...string) shell.Action {
		return act("class", name, shown, what, func() {
			f(v.people[v.at()])
			v.layout(s, cell.Rect{})
		}, keys...).Hinted(name).When(one)
	}
	v.actions = shell.Actions{
		to("call or free", "enter", "calls this student to your screen, or frees; lets one who was removed come back", func(o Student) {
			if s.class.Call(o.Number, !o.Follows); o.Removed {
				s.app.Say("Nothing keeps " + o.Name + " from coming back now.")
				s.class.Readmit(o.Number)
			}
		}, "enter"),
		to("remove", "del", "ends the visit of this student", func(o Student) { v.remove(s, o) }, "delete", "backspace"),
		act("class", "lock", "o", "locks the class: no student comes in", func() {
			on := !v.now.Locked
			s.class.Lock(on)
			s.app.Say(collect.If(on, "The class is locked: no other student comes in. o opens it.", "The class is open."))
		}, "o").Hinted("lock"),
	}
	return v
}

// remove asks whether a student is to leave.
func (v *studentsView) remove(s *Screen, o Student) {
	s.app.Ask("remove "+o.Name, "removes", func() tea.Cmd {
		s.class.Remove(o.Number)
		return nil
	}, "The visit ends. There is no way back before you let in again.")
}

func (v *studentsView) layout(s *Screen, _ cell.Rect) {
	v.now = s.class.Now()
	v.people = slices.Concat(v.now.Students, v.now.Removed)
}

// row returns the row of the selected student; -1 where that has left.
func (v *studentsView) row() int {
	return slices.IndexFunc(v.people, func(o Student) bool { return o.Number == v.selected })
}

// at is row, but the first one where none is selected.
func (v *studentsView) at() int { return max(v.row(), 0) }

// chosen reports whether the teacher selected a student who is still there: nothing is done to another.
func (v *studentsView) chosen() bool { return v.row() >= 0 }

func (v *studentsView) move(_ *Screen, by int) {
	switch n := len(v.people); {
	case n > 0 && !v.chosen():
		v.selected = v.people[0].Number
	case n > 0:
		v.selected = v.people[min(max(v.at()+by, 0), n-1)].Number
	}
}

// talliesBelow is how many rows below the students show what was reached and missed.
const talliesBelow = 9

func (v *studentsView) paint(p painter, r cell.Rect) {
	people, tallies := r.Top(r.H - talliesBelow)
	door := collect.If(v.now.Locked, "locked", "open")
	title := []widget.Span{widget.Styled("students", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · %d there, %d with you · %s", len(v.now.Students), v.now.following(), door), p.c.Look.Dim)}
	in, below := p.c.Section(people, true, title...), cell.Rect{}
	in, below = in.Top(in.H - 2)
	if v.now.Wrong > 0 {
		p.c.Buffer.Text(below.X, below.Y+1, below.X+below.W, fmt.Sprintf("%s, the latest from %s",
			format.Plural(v.now.Wrong, "wrong password"), v.now.From), p.c.Look.Near)
	}
	if len(v.people) == 0 {
		p.paintInvitation(in, v.now.Door)
	} else {
		v.paintPeople(p, in)
		p.c.Spans(below.X, below.Y, below.X+below.W, widget.Styled(v.now.Invitation, p.c.Look.Accent),
			widget.Styled("  "+v.now.Fingerprint, p.c.Look.Dim))
	}
	p.paintTallies(tallies)
}

// small puts those letters of a command in place of capitals that have to be typed small.
var small = strings.NewReplacer("ssh", "\ue000\ue000\ue001", "-p", "-\ue002")

// paintInvitation says in the middle of an empty class what students type to come in, also in large type, and what they are
// asked then.
func (p painter) paintInvitation(r cell.Rect, d Door) {
	defer p.c.Buffer.Clip(p.c.Buffer.Clip(r))
	top, text := r.Y+max(r.H/2-2, 0), small.Replace(d.Invitation)
	if fine := widget.TypeCells(text, false) > r.W; r.H >= 12 && !p.c.Buffer.ASCII && widget.Settable(text) {
		p.c.Large(r.X+max(r.W-widget.TypeCells(text, fine), 0)/2, top-4, r.X+r.W, text, fine, p.c.Look.Title)
	}
	for i, line := range []widget.Span{
		widget.Styled("No student is in class yet. To come in they type", p.c.Look.Dim),
		{},
		widget.Styled("   "+d.Invitation+"   ", p.c.Look.BadgeLive),
		{},
		widget.Styled("and yes, if they are shown "+d.Fingerprint, p.c.Look.Dim),
	} {
		p.c.Buffer.Text(r.X+max((r.W-safetext.Width(line.Text))/2, 0), top+i, r.X+r.W, line.Text, line.Style)
	}
}

// paintPeople draws a row for each student, as many as fit around the selected one.
func (v *studentsView) paintPeople(p painter, r cell.Rect) {
	const mark, name, state, columns = 2, longestStudent + 1, 10, "%9s %8s %8s"
	end := r.X + r.W
	right := end - 28
	head := func(x, to int, text string) { p.c.Buffer.Text(x, r.Y, to, text, p.c.Look.Dim) }
	head(r.X+mark, end, "name")
	head(r.X+mark+name, end, "clock")
	head(r.X+mark+name+state, right, "lesson")
	head(right, end, fmt.Sprintf(columns, "view", "reached", "right"))
	at := v.at()
	rows := max(r.H-1, 1)
	v.first = max(min(v.first, at, len(v.people)-rows), at-rows+1, 0)
	for i := v.first; i < len(v.people) && i < v.first+rows; i++ {
		o, y := v.people[i], r.Y+1+i-v.first
		st, sign := p.c.Look.Text, " "
		if i == at && v.chosen() {
			st, sign = p.c.Look.Title, p.c.Look.SelMark
		}
		p.c.Buffer.Text(r.X, y, end, sign, p.c.Look.Accent)
		p.c.Buffer.Text(r.X+mark, y, r.X+mark+name-1, o.Name, st)
		text, tone := place(p.c.Look, o)
		p.c.Buffer.Text(r.X+mark+name, y, right, text, tone)
		p.OnClick(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, func(int) tea.Cmd { v.selected = o.Number; return nil })
		if o.Removed {
			continue
		}
		reached, said := collect.If(o.Task && o.Place.Reached, p.c.Look.YesMark+" ", "  "), "–"
		if o.Asked > 0 {
			said = fmt.Sprintf("%d of %d", o.Right, o.Asked)
		}
		x := p.c.Buffer.Text(r.X+mark+name+state, y, right-1, reached, p.c.Look.Good)
		p.c.Buffer.Text(x, y, right-1, safetext.Clip(fmt.Sprintf("%d %s", o.Lesson+1, safetext.Clean(o.Title)), max(right-1-x, 0),
			safetext.Ellipsis), st)
		p.c.Buffer.Text(right, y, end, fmt.Sprintf(columns, o.View, fmt.Sprint(o.Reached), said), p.c.Look.Text)
	}
}

// longestStudent is how many columns the name of a student has.
const longestStudent = 18

// place says whose clock a student's lab goes by. One who is called follows from the next
// moment on that the teacher shows.
func place(l chart.Look, o Student) (string, themes.Style) {
	switch {
	case o.Removed:
		return "removed", l.Dim
	case o.Follows && o.With:
		return "with you", l.Good
	case o.Follows:
		return "called", l.Near
	}
	return "free", l.Dim
}

// paintTallies draws who reached each task and predicted each question, as bars.
func (p painter) paintTallies(r cell.Rect) {
	in := p.c.Section(r, false, widget.Styled("reached and missed", p.c.Look.Title))
	list := p.s.class.Tallies()
	if len(list) == 0 {
		p.c.Buffer.Text(in.X, in.Y, in.X+in.W, "No task was tried, nothing predicted.", p.c.Look.Dim)
		return
	}
	if in.H < len(list) {
		p.c.Aside(r, len("reached and missed"), widget.Styled(fmt.Sprintf("%d more", len(list)-in.H), p.c.Look.Dim))
		list = list[:in.H]
	}
	end := in.X + in.W
	for i, t := range list {
		said, st, glyph := "%d right, %d wrong", p.c.Look.Denied, p.c.Look.Cross
		if t.Task {
			said, st, glyph = "%d reached, %d not yet", p.c.Look.Faint, p.c.Look.Room
		}
		const words = 23
		bar := cell.Rect{X: end - 40, Y: in.Y + i, W: 39, H: 1}
		p.c.Buffer.Text(in.X, bar.Y, bar.X-1, safetext.Clip(safetext.Clean(t.Text), max(bar.X-1-in.X, 0), safetext.Ellipsis), p.c.Look.Text)
		p.c.Buffer.Text(bar.X, bar.Y, end, fmt.Sprintf(said, t.Right, t.Missed), p.c.Look.Dim)
		chart.Bar(&p.c.Buffer, bar.X+words, bar.Y, max(bar.W-words, 0), float64(max(t.Right+t.Missed, 1)), p.c.Look.Glyphs,
			chart.Segment{Value: float64(t.Right), Style: p.c.Look.Good}, chart.Segment{Value: float64(t.Missed), Style: st, Glyph: glyph})
	}
}

// words say how many have predicted, and what once none is left who could go by the predictions of others.
func (t Tally) words() (count, said string) {
	count, said = fmt.Sprintf("class %d of %d", t.Admitted+t.Denied, t.Admitted+t.Denied+t.Waits), "hidden until all are in"
	if t.Waits == 0 {
		said = fmt.Sprintf("admitted %d, denied %d", t.Admitted, t.Denied)
	}
	return count, said
}

// paintPredictions draws what the class predicts of a question in one row or two.
func (p painter) paintPredictions(r cell.Rect, id string) {
	count, said := p.s.class.Tally(id).words()
	p.c.Flow(r, []widget.Span{widget.Styled(count, p.c.Look.Title)}, []widget.Span{widget.Styled(said, p.c.Look.Text)})
}
