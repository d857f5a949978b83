package lab

import (
	"fmt"
	"math"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/bench"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// duelName is the name of the view of the game attack and defend.
const duelName = "duel"

// Game is how the game attack and defend stands in a class.
type Game struct {
	On       bool
	Defends  bool // this student does; of a teacher it says nothing
	Defences []Defence
}

// Defence is the limiter that a student handed in, and who broke it.
type Defence struct {
	Number  int // of the student
	Name    string
	Limiter string
	Line    string // the limiter as a moment that nothing was sent to
	By      string // whose traffic breaks it by the fewest requests; "" it holds
	Broken  lab.Broken
	Win     string // that traffic as a moment
}

// duelView is the game attack and defend: a person writes traffic that breaks the limiter in focus, against the clock of
// the solver; or chooses the limiter, and the solver answers.
type duelView struct {
	plain
	duel     *lab.Duel // nil while none has begun
	searches bool      // the solver does, for this duel or one before
	game     Game      // as last laid out
	selected int       // defence
	target   int       // the Number of the student whose limiter is attacked; 0 is none
}

func newDuelView(s *Screen) *duelView {
	v := &duelView{plain: plain{title: duelName}}
	v.actions = shell.Actions{
		act("duel", "go on", "enter", "hands your limiter in, opens the one to attack, or shows the traffic that breaks it",
			func() { v.enter(s) }, "enter").Hinted("go on"),
		act("duel", "restart", "R", "takes back what was fired; the solver's clock goes on", func() {
			if err := s.restart(s.run.Setup()); err != nil {
				s.fail(err)
			}
		}, "R", "home"),
	}
	if s.class.teaches() {
		v.actions = append(v.actions, act("class", "begin or end", "V", "lets half the class defend and half attack, or ends that", func() {
			s.class.Play(!s.class.Game().On)
		}, "V").Hinted("class game"))
	}
	return v
}

// reset forgets the duel where its run was replaced by another one, whose traffic is not the person's.
func (v *duelView) reset() { v.duel, v.target = nil, 0 }

// open leads back to the duel, or begins one in a story in which nothing comes by itself.
func (v *duelView) open(s *Screen) error {
	if v.duel != nil && !s.shows(duelName) {
		return nil
	}
	setup := s.run.Setup()
	if len(setup.Candidates) == 1 { // there has to be something to choose
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.SlidingWindow, limiter.GCRA} {
			if other := (lab.Candidate{Algorithm: a}); other != setup.Candidates[0] {
				setup.Candidates = append(setup.Candidates, other)
			}
		}
	}
	l, err := lab.DuelLesson(setup)
	if err != nil {
		return err
	}
	if s.at().ID != lab.DuelID {
		s.results.left = s.moment()
	}
	return s.openShared(lab.Shared{Lesson: l, Setup: setup, Now: setup.Zero, View: duelName, Selected: s.focus})
}

func (v *duelView) move(s *Screen, by int) {
	if n := len(v.game.Defences); n > 0 {
		v.selected = min(max(v.selected+by, 0), n-1)
		return
	}
	compareView{}.move(s, by)
}

// tick moves the clock of the solver, and reports whether it shows.
func (v *duelView) tick(at time.Time) bool {
	if v.duel != nil {
		v.duel.Tick(at)
	}
	return v.duel != nil
}

// layout begins a duel where the limiter in focus is another one than before, and looks at what the run has come to.
func (v *duelView) layout(s *Screen, _ cell.Rect) {
	v.look(s)
	setup := s.run.Setup()
	if d := v.duel; d == nil || d.Setup.Candidates[0] != setup.Candidates[s.focus] || d.Setup.Limit != setup.Limit ||
		d.Setup.Convention != setup.Convention {
		v.duel = lab.NewDuel(setup, s.focus)
	}
	if d := v.duel; !v.searches && !d.Solved { // one search at a time
		searched := d.Setup
		v.searches = true
		s.later = append(s.later, func() tea.Msg {
			worst, err := lab.Solve(searched)
			return doneMsg(func() { d.Solver, d.Failed, d.Solved, v.searches = worst, err, true, false })
		})
	}
	if v.duel.See(s.run, s.focus) && v.target != 0 {
		v.hand(s, v.target)
	}
}

// hand hands the moment on screen to the class.
func (v *duelView) hand(s *Screen, number int) {
	m := s.moment()
	if number == 0 {
		m.Fired, m.Left, m.Now = nil, nil, m.Setup.Zero
	}
	line, err := m.Line()
	if err == nil {
		err = s.class.Move(number, line)
	}
	switch {
	case err != nil:
		s.fail(err)
	case number == 0:
		s.app.Say("Handed in. Change it and hand it in again while nobody has broken it.")
	default:
		s.app.Say("Broken: the teacher's table has it.")
	}
}

// look takes the game as it is now; the defence that was selected stays so.
func (v *duelView) look(s *Screen) {
	if !s.class.joined() {
		return
	}
	was := v.game.Defences
	v.game = s.class.Game()
	same := func(d Defence) bool { return v.selected < len(was) && d.Number == was[v.selected].Number }
	if i := slices.IndexFunc(v.game.Defences, same); i >= 0 {
		v.selected = i
	}
	v.selected = max(min(v.selected, len(v.game.Defences)-1), 0)
}

// enter does what comes next, alone or in a class.
func (v *duelView) enter(s *Screen) {
	v.look(s) // what was handed in since it was drawn counts
	switch g := &v.game; {
	case g.On && g.Defends && !s.class.teaches():
		v.hand(s, 0)
	case g.On && len(g.Defences) == 0 && s.class.learns():
		s.app.Say("No limiter is handed in yet: it comes into the list above the lanes.")
	case g.On && len(g.Defences) > 0:
		d := g.Defences[v.selected]
		line := collect.If(s.class.teaches() && d.Win != "", d.Win, d.Line)
		m, err := lab.ReadShared(line)
		if err == nil && s.class.teaches() {
			v.replay(s, m)
			return
		}
		if m.View = duelName; err == nil {
			err = s.openShared(m)
		}
		if v.target = d.Number; err != nil {
			s.fail(err)
		}
	case v.duel == nil: // nothing was laid out yet, as on a terminal without a size
	case v.duel.Left > 0:
		v.duel.GiveUp()
	case v.duel.Solved && v.duel.Failed == nil:
		v.replay(s, v.duel.Reply(*s.at(), s.run.Setup(), s.focus))
	}
}

// replay plays traffic in all lanes, from the beginning.
func (v *duelView) replay(s *Screen, m lab.Shared) {
	fired := m.Fired
	m.Fired, m.Left, m.Now, m.View = nil, nil, m.Setup.Zero, "compare"
	if err := s.openShared(m); err != nil {
		s.fail(err)
		return
	}
	if s.due = fired; len(fired) > 0 {
		s.advanceTo(fired[len(fired)-1].At, math.MaxInt)
	}
	s.app.Say("This traffic in all lanes: step back with ← to see it move, v leads back to the game.")
}

func (v *duelView) paint(p painter, r cell.Rect) {
	d := v.duel
	if d == nil {
		return
	}
	top, lanes := r.Top(min(r.H, 13+min(len(v.game.Defences), 6)))
	in := p.c.Section(top, true, widget.Styled("attack and defend", p.c.Look.Title))
	y, most, window := in.Y, d.Setup.Limit.Count, format.Length(d.Setup.Limit.Window)
	write := func(text string, st themes.Style) {
		y = p.c.Paragraphs(cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y}, st, text)
	}
	write(fmt.Sprintf("Attack: get more than %d admitted in any %s, by as few requests as you can, before the solver answers. "+
		"Defend: choose the limiter (a) or its terms (w) and let the solver try (enter).", most, window), p.c.Look.Dim)
	write(fmt.Sprintf("limiter  %s, %d in %s", safetext.Clean(d.Setup.Candidates[0].String()), most, window), p.c.Look.Text)
	write(v.person(p))
	write(v.solver(p))
	v.paintGame(p, cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y})
	if lanes.H > 2 {
		p.paintLanes(lanes)
	}
}

// person says how far the person is.
func (v *duelView) person(p painter) (string, themes.Style) {
	d := v.duel
	if d.Best.Requests == 0 {
		return fmt.Sprintf("you      %d of %d in a window, by %s: it holds (space and b fire, g goes to a time, R begins anew)",
			p.s.run.Counts(p.s.focus).Largest, d.Setup.Limit.Count+1, format.Plural(p.s.run.Decided(), "request")), p.c.Look.Text
	}
	text := fmt.Sprintf("you      %s you broke it: %d in a window, by %s", verdictMark(p.c.Look, true), d.Best.Most,
		format.Plural(d.Best.Requests, "request"))
	if d.First {
		text += ", before the solver"
	}
	return text, p.c.Look.Good
}

// solver says what the solver found, once its time is up.
func (v *duelView) solver(p painter) (string, themes.Style) {
	d := v.duel
	seconds := int((d.Left + time.Second - 1) / time.Second)
	switch {
	case d.Failed != nil:
		return "solver   cannot search: " + safetext.Sentence(d.Failed.Error()), p.c.Look.Near
	case d.Left > 0 && !d.Solved:
		return fmt.Sprintf("solver   searches, and answers in %d s", seconds), p.c.Look.Accent
	case !d.Solved:
		return "solver   searches…", p.c.Look.Accent
	case d.Left > 0:
		return fmt.Sprintf("solver   answers in %d s; enter asks it now", seconds), p.c.Look.Accent
	case d.Holds():
		return fmt.Sprintf("solver   found none among %s that breaks it, which does not say that there is none",
			format.Plural(d.Solver.Searched, "traffic")), p.c.Look.Good
	}
	least := collect.If(d.Solver.AtLeast, "at least ", "")
	return fmt.Sprintf("solver   %s%d in a window: %s (enter plays it in all lanes)", least, d.Solver.Admitted,
			bench.Words(d.Solver.Steps)),
		p.c.Look.Denied
}

// paintGame draws who broke whom in the class.
func (v *duelView) paintGame(p painter, r cell.Rect) {
	role := "You attack: choose a limiter with ↑ and ↓, enter opens it; what breaks it is handed in by itself."
	switch g := v.game; {
	case !p.s.class.joined() || !g.On && !p.s.class.teaches():
		return
	case !g.On:
		role = "V lets half the class defend and half attack."
	case p.s.class.teaches():
		role = "The class plays: enter plays in all lanes what broke the limiter, V ends the game."
	case g.Defends:
		role = "You defend: choose the limiter and its terms, enter hands it in."
	}
	top := p.c.Paragraphs(r, p.c.Look.Title, role)
	first := max(v.selected-(r.Y+r.H-top-1), 0)
	for i := first; i < len(v.game.Defences) && top+i-first < r.Y+r.H; i++ {
		d := v.game.Defences[i]
		sign, st, said := " ", p.c.Look.Text, "holds"
		if i == v.selected {
			sign, st = p.c.Look.SelMark, p.c.Look.Title
		}
		if d.By != "" {
			said = fmt.Sprintf("broken by %s: %d by %s", d.By, d.Broken.Most, format.Plural(d.Broken.Requests, "request"))
		}
		p.c.Spans(r.X, top+i-first, r.X+r.W, widget.Styled(sign+" "+d.Name+": ", st), widget.Styled(d.Limiter+" ", p.c.Look.Text),
			widget.Styled(verdictMark(p.c.Look, d.By == "")+" "+said, verdictStyle(p.c.Look, d.By == "")))
	}
}

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
	const done = "This box is named: n brings the next one."
	named := func() bool { return v.box == nil || v.guessed >= 0 }
	unnamed := func() bool { return v.guessed < 0 }
	v.actions = shell.Actions{
		act("box", "fire at it", "space", "fires one request at the box", func() { v.box.Fire() }, "space").
			Hinted("fire").Unless(done, named),
		act("box", "wait", "→ l", "waits", func() { v.box.Wait(lab.BoxWaits[v.wait]) }, "right", "l").Hinted("wait").Unless(done, named),
		act("box", "longer", "+", "waits longer at once", func() { v.wait = min(v.wait+1, len(lab.BoxWaits)-1) },
			"+", "=").Hinted("longer").Unless(done, named),
		act("box", "shorter", "-", "waits shorter at once", func() { v.wait = max(v.wait-1, 1) }, "-", "_").
			Hinted("shorter").Unless(done, named),
		act("box", "name it", "enter", "names what is in the box", func() { v.ask(s) }, "enter").Hinted("name it").Unless(done, named),
		act("box", "next box", "n", "brings another box", func() { v.seed++; v.fresh() }, "n").Hinted("next").
			Unless("Name this box first, with enter.", unnamed),
	}
	return v
}

// layout brings a box where there is none yet.
func (v *boxView) layout(s *Screen, _ cell.Rect) {
	if v.box == nil {
		v.seed = s.seed + uint64(s.lesson) + uint64(s.results.Named.Boxes)*31
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
	s.results.Named.Boxes++
	if suspect == v.box.Hidden {
		s.results.Named.Right++
		s.results.Named.Requests += v.box.Run.Decided()
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
		widget.Styled(" · "+limitText(b.Run.Setup().Limit), p.c.Look.Dim))
	y := p.c.Flow(in,
		[]widget.Span{widget.Styled("next tick in ", p.c.Look.Dim), widget.Styled(lab.Seconds(b.Edge()), p.c.Look.Text)},
		[]widget.Span{widget.Styled(format.Plural(b.Run.Decided(), "request"), p.c.Look.Text), widget.Styled(" so far", p.c.Look.Dim)},
		[]widget.Span{widget.Styled("→ waits ", p.c.Look.Dim),
			widget.Styled(lab.Seconds(b.Length(lab.BoxWaits[v.wait])), p.c.Look.Accent),
			widget.Styled(", + - change it", p.c.Look.Dim)}) + 1
	if v.guessed >= 0 {
		right := v.guessed == b.Hidden
		text := fmt.Sprintf("%s %s. It is the %s. You fired %s.", verdictMark(p.c.Look, right), collect.If(right, "Right", "Wrong"),
			b.Suspects[b.Hidden].Name, format.Plural(b.Run.Decided(), "request"))
		y = p.c.Paragraphs(cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y}, verdictStyle(p.c.Look, right), text) + 1
	}
	v.paintTried(p, cell.Rect{X: in.X, Y: y, W: in.W, H: in.Y + in.H - y})
	v.paintSuspects(p, right)
}

// paintTried lists the requests, the newest first.
func (v *boxView) paintTried(p painter, r cell.Rect) {
	run, tried := v.box.Run, v.box.Run.Decided()
	if tried == 0 {
		p.c.Paragraphs(r, p.c.Look.Dim, "A limiter is in the box. Fire at it, wait, and watch what it admits.",
			"What tells them apart: when room comes back (at the tick, when the oldest request leaves, bit by bit), "+
				"whether exactly one window later is too early, and whether a denied request counts.")
		return
	}
	for row := range min(r.H, tried) {
		i, since := tried-1-row, ""
		one, fates := run.Arrival(i)
		if i > 0 {
			last, _ := run.Arrival(i - 1)
			wait := lab.Seconds(one.At.Sub(last.At))
			since = format.First(r.W-24, wait+" after the one before", "+"+wait)
		}
		admitted, at := fates.Allowed(v.box.Hidden), one.At.Sub(run.Setup().Zero)
		fate := fmt.Sprintf("%s %-9s", verdictMark(p.c.Look, admitted), collect.If(admitted, "admitted", "denied"))
		p.c.Spans(r.X, r.Y+row, r.X+r.W, widget.Styled(fmt.Sprintf("%3d  %8s  ", i+1, lab.Seconds(at)), p.c.Look.Text),
			widget.Styled(fate, verdictStyle(p.c.Look, admitted)), widget.Styled(" "+since, p.c.Look.Dim))
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
			if i == v.box.Hidden {
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
	if n := p.s.results.Named; n.Boxes > 0 && y+1 < in.Y+in.H {
		p.c.Buffer.Text(in.X, y+1, in.X+in.W, fmt.Sprintf("%d of %d boxes named rightly", n.Right, n.Boxes), p.c.Look.Text)
		if y+2 < in.Y+in.H && n.Right > 0 {
			p.c.Buffer.Text(in.X, y+2, in.X+in.W, "in "+format.Plural(n.Requests, "request"), p.c.Look.Dim)
		}
	}
}
