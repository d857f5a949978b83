package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// boxView is the game "which limiter is this?": a limiter that is to be named by firing at it, in
// as few requests as possible.
type boxView struct {
	plain
	box     *lab.Box
	seed    uint64
	wait    int // index of lab.BoxWaits
	guessed int // the suspect that was named; -1 while none is
}

// Named is how boxes went.
type Named struct {
	Boxes    int `json:"boxes"`
	Right    int `json:"right"`
	Requests int `json:"requests"` // fired at the boxes that were named rightly
}

func newBoxView(s *Screen) *boxView {
	v := &boxView{plain: plain{title: "box"}, wait: 1, guessed: -1}
	open := func() string {
		if v.box != nil && v.guessed < 0 {
			return ""
		}
		return "This box is named: n brings the next one."
	}
	named := func() string {
		if v.guessed >= 0 {
			return ""
		}
		return "Name this box first, with enter."
	}
	v.actions = shell.Actions{
		act("box", "fire at it", "space", "fires one request at the box", func() { v.box.Fire() }, "space").Hinted("fire").When(open),
		act("box", "wait", "→ l", "waits", func() { v.box.Wait(lab.BoxWaits[v.wait]) }, "right", "l").Hinted("wait").When(open),
		act("box", "longer", "+", "waits longer at once", func() { v.wait = min(v.wait+1, len(lab.BoxWaits)-1) },
			"+", "=").Hinted("longer").When(open),
		act("box", "shorter", "-", "waits shorter at once", func() { v.wait = max(v.wait-1, 1) }, "-", "_").Hinted("shorter").When(open),
		act("box", "name it", "enter", "names what is in the box", func() { v.ask(s) }, "enter").Hinted("name it").When(open),
		act("box", "next box", "n", "brings another box", func() { v.seed++; v.fresh() }, "n").Hinted("next").When(named),
	}
	return v
}

// apart marks that the box has a clock of its own.
func (*boxView) apart() {}

// layout brings a box where there is none yet.
func (v *boxView) layout(s *Screen, _ cell.Rect) {
	if v.box == nil {
		v.seed = s.seed + uint64(s.lesson) + uint64(s.results.named.Boxes)*31
		v.fresh()
	}
}

// fresh brings the box of the seed.
func (v *boxView) fresh() { v.box, v.guessed, v.wait = lab.NewBox(v.seed), -1, 1 }

// ask lets a person choose among the suspects.
func (v *boxView) ask(s *Screen) {
	choices := make([]shell.Choice, len(v.box.Suspects))
	for i, one := range v.box.Suspects {
		choices[i] = shell.Choice{Name: one.Name, Value: i}
	}
	p := s.app.NewPicker("which limiter is this?", choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		v.answer(s, c.Value.(int))
		return nil
	}
	s.app.Open(p)
}

// answer takes the name that was chosen and keeps the score.
func (v *boxView) answer(s *Screen, suspect int) {
	v.guessed = suspect
	s.results.named.Boxes++
	if suspect == v.box.Hidden() {
		s.results.named.Right++
		s.results.named.Requests += len(v.box.Tried)
	}
}

func (v *boxView) paint(p painter, r cell.Rect) {
	b := v.box
	if b == nil {
		return
	}
	left, right := r.Left(r.W - 42)
	if r.W < 100 {
		left, right = r.Left(r.W - 30)
	}
	in := p.c.Section(left, true, widget.Styled("which limiter is this?", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · limit %d in %s", b.Limit.Count, format.Length(b.Limit.Window)), p.c.Look.Dim))
	y := p.c.Flow(in,
		[]widget.Span{widget.Styled("next tick in ", p.c.Look.Dim), widget.Styled(lab.Seconds(b.Edge()), p.c.Look.Text)},
		[]widget.Span{widget.Styled(format.Plural(len(b.Tried), "request"), p.c.Look.Text), widget.Styled(" so far", p.c.Look.Dim)},
		[]widget.Span{widget.Styled("→ waits ", p.c.Look.Dim), widget.Styled(lab.Seconds(b.Length(lab.BoxWaits[v.wait])), p.c.Look.Accent),
			widget.Styled(", + - change it", p.c.Look.Dim)}) + 1
	if v.guessed >= 0 {
		y = v.paintVerdict(p, cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y})
	}
	v.paintTried(p, cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y})
	v.paintSuspects(p, right)
}

// paintVerdict says what was in the box, and how many suspects the answers had left.
func (v *boxView) paintVerdict(p painter, r cell.Rect) int {
	b, right := v.box, v.guessed == v.box.Hidden()
	said := map[bool]string{true: "Right", false: "Wrong"}[right]
	text := fmt.Sprintf("%s %s. It is the %s. You fired %s.", p.mark(right), said,
		b.Suspects[b.Hidden()].Name, format.Plural(len(b.Tried), "request"))
	if left := v.left(); left > 1 {
		text += fmt.Sprintf(" They left %d possible.", left)
	}
	return p.paragraphs(r, []string{text}, p.outcome(right)) + 1
}

// left is how many suspects fit all answers so far.
func (v *boxView) left() (n int) {
	for i := range v.box.Suspects {
		if v.box.Fits(i) {
			n++
		}
	}
	return n
}

// paintTried lists the requests, the newest first.
func (v *boxView) paintTried(p painter, r cell.Rect) {
	b := v.box
	if len(b.Tried) == 0 {
		p.paragraphs(r, []string{
			"A limiter is in the box. Fire at it, wait, and watch what it admits.",
			"What tells them apart: when room comes back (at the tick, when the oldest request leaves, bit by bit), " +
				"whether exactly one window later is too early, and whether a denied request counts.",
		}, p.c.Look.Dim)
		return
	}
	for row := range min(r.H, len(b.Tried)) {
		i := len(b.Tried) - 1 - row
		one, since := b.Tried[i], ""
		if i > 0 {
			wait := lab.Seconds(one.At - b.Tried[i-1].At)
			since = format.First(r.W-24, wait+" after the one before", "+"+wait)
		}
		word := "denied"
		if one.Admitted {
			word = "admitted"
		}
		p.c.Spans(r.X, r.Y+row, r.X+r.W, widget.Styled(fmt.Sprintf("%3d  %8s  ", i+1, lab.Seconds(one.At)), p.c.Look.Text),
			widget.Styled(fmt.Sprintf("%s %-9s", p.mark(one.Admitted), word), p.outcome(one.Admitted)), widget.Styled(" "+since, p.c.Look.Dim))
	}
}

// paintSuspects lists what may be in the box; once it is named, what fitted.
func (v *boxView) paintSuspects(p painter, r cell.Rect) {
	in := p.c.Section(r, false, widget.Styled("suspects", p.c.Look.Title))
	y := in.Y
	for i, one := range v.box.Suspects {
		mark, st := " ", p.c.Look.Text
		if v.guessed >= 0 {
			if mark, st = p.c.Look.YesMark, p.c.Look.Text; !v.box.Fits(i) {
				mark, st = p.c.Look.OverMark, p.c.Look.Dim
			}
			if i == v.box.Hidden() {
				st = p.c.Look.Title
			}
		}
		for _, line := range format.Wrap(one.Name, in.W-2) {
			if y < in.Y+in.H {
				p.c.Buffer.Text(in.X, y, in.X+in.W, mark+" "+line, st)
			}
			mark = " "
			y++
		}
	}
	if n := p.s.results.named; n.Boxes > 0 && y+1 < in.Y+in.H {
		p.c.Buffer.Text(in.X, y+1, in.X+in.W, fmt.Sprintf("%d of %d boxes named rightly", n.Right, n.Boxes), p.c.Look.Text)
		if y+2 < in.Y+in.H && n.Right > 0 {
			p.c.Buffer.Text(in.X, y+2, in.X+in.W, "in "+format.Plural(n.Requests, "request"), p.c.Look.Dim)
		}
	}
}
