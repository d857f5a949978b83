package lab

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// bindings are what a person can do in the lab. A letter that means something on the
// dashboard means the same here; capital letters show the lab's own views.
func (s *Screen) bindings() shell.Actions {
	bind := func(group, name, shown, what string, f func(), keys ...string) shell.Action {
		return shell.Bind(group, name, shown, what, func() tea.Cmd { f(); return s.started() }, keys...)
	}
	show := func(name string) func() { return func() { s.show(name) } }
	const only = "There is only this lesson."
	alone := func() bool { return len(s.lessons) < 2 }
	return shell.Actions{
		bind(fireGroup, "fire", "space", "fires one request", func() { s.guess.fire(s) }, "space").For(shell.ToAct).Hinted("fire"),
		bind(fireGroup, "burst", "b", "fires a burst of N", func() { s.fire(s.burst); s.follow() }, "b").For(shell.ToAct).Hinted("burst"),
		bind(fireGroup, "rate", "r", "fires N in every window; again stops", s.toggleRate, "r").For(shell.ToAct),
		shell.Bind(fireGroup, "more", "+", "raises the chosen number, or N", func() tea.Cmd { return adjust(s, 1) }, "+", "="),
		shell.Bind(fireGroup, "less", "-", "lowers it", func() tea.Cmd { return adjust(s, -1) }, "-", "_"),

		bind("lesson", "lessons", "L", "lists the lessons", s.openLessons, "L").For(shell.ToFind).Hinted("lessons"),
		bind("lesson", "next lesson", "n", "begins the next lesson", func() { s.begin(s.lesson + 1) }, "n").For(shell.ToFind).
			Hinted("next").Unless(only, alone),
		bind("lesson", "previous lesson", "N", "begins the one before", func() { s.begin(s.lesson - 1) }, "N").Unless(only, alone),
		bind("lesson", "hint", "i", "gives a hint", func() { s.hint = !s.hint }, "i").For(shell.ToAct).Hinted("hint"),
		bind("lesson", "how", "H", "shows how the goal is reached", s.showHow, "H").For(shell.ToAct).Hinted("how"),
		bind("lesson", "what if", "w", "sets limit, terms, traffic, algorithms", func() { showTerms(s) }, "w").For(shell.ToAct).Hinted("what if"),

		bind(timeGroup, "play", "p", "starts and stops the clock", s.play, "p").For(shell.ToTime).Hinted("run"),
		bind(timeGroup, "step", "→ l", "steps to the next request", s.step, "right", "l", ".").For(shell.ToTime),
		bind(timeGroup, "step back", "← h", "steps back", s.stepBack, "left", "h", ",").For(shell.ToTime),
		bind(timeGroup, "slower", "<", "slows the clock down, to 0.1x", func() { s.clock.faster(-1) }, "<"),
		bind(timeGroup, "faster", ">", "speeds it up, to 50x", func() { s.clock.faster(1) }, ">"),
		bind(timeGroup, "go to", "g", "goes to a time you type, as 9.9s or 999ms", s.askTime, "g").For(shell.ToTime).Hinted("go to"),
		bind(timeGroup, "restart", "R", "restarts, same seed", func() { s.anew(s.restart(s.run.Setup())) }, "R", "home").For(shell.ToTime),
		bind(timeGroup, "undo", "U", "undoes the restart", s.takeBack, "U").Unless("Nothing was restarted.",
			func() bool { return s.past == nil }),
		bind(timeGroup, "reseed", "Z", "restarts, another seed", func() { s.anew(s.reseed()) }, "Z"),
		bind(timeGroup, "zoom out", "[", "shows a longer stretch of time", func() { s.zoom = min(s.zoom+1, 6) }, "["),
		bind(timeGroup, "zoom in", "]", "shows a shorter stretch of time", func() { s.zoom = max(s.zoom-1, -12) }, "]"),

		bind("lab", "compare", "C", "compares the algorithms", show("compare"), "C").For(shell.ToLook),
		bind("lab", "decision", "D", "inspects one decision", show("decision"), "D"),
		bind("lab", "quiz", "Q", "asks you to predict decisions", show("quiz"), "Q"),
		bind("lab", "predict first", "J", "asks for your prediction before a request", func() { s.guess.toggle(s) }, "J"),
		bind("lab", "lesson", "T", "shows the lesson's text", show("lesson"), "T").For(shell.ToFind),
		bind("lab", "map", "M", "maps where the algorithms disagree", show("map"), "M"),
		bind("lab", "accuracy", "A", "measures how far counters are from truth", show("accuracy"), "A"),
		bind("lab", "which limiter", "X", "plays: which limiter is in the box?", show("box"), "X"),
		bind("lab", "attack and defend", "v", "plays: break it before the solver does", show(duelName), "v"),
		bind("lab", "next view", "tab", "goes to the next number, term or view", func() { tab(s) }, "tab").For(shell.ToLook).Hinted("view"),
		bind("lab", "previous view", "shift+tab", "goes to the one before", func() { s.show(s.after(-1)) }, "shift+tab"),
		bind("lab", "up", "↑ k", "selects what is above", func() { s.front().move(s, -1) }, "up", "k").For(shell.ToLook),
		bind("lab", "down", "↓ j", "selects what is below", func() { s.front().move(s, 1) }, "down", "j").For(shell.ToLook),
		bind("lab", "algorithm", "a", "selects the next algorithm", func() { compareView{}.move(s, 1) }, "a"),
		bind("lab", "expand", "enter", "inspects, and from the text tries it", s.enter, "enter").For(shell.ToLook),

		bind("room", "present", "B", "presenter mode: large and few", func() { togglePresenter(s) }, "B").In(shell.Look, nil),
		shell.Bind("room", "export", "e", "saves the moment as Markdown", func() tea.Cmd { return exportMoment(s, false) }).
			In(shell.Save, shell.Folder),
		shell.Bind("room", "scenario", "E", "saves what happened as a scenario file", func() tea.Cmd { return exportMoment(s, true) }).
			In(shell.Save, shell.Folder),
		shell.Bind("room", "picture", "K", "saves the picture on screen as SVG and ANSI", func() tea.Cmd { return exportPicture(s) }).
			In(shell.Save, shell.Folder),
		shell.Bind("room", "share", "Y", "copies a line that opens this moment", func() tea.Cmd { return copyMoment(s) }),
		shell.Bind("room", "copy", "y", "copies the Redis script of the step", func() tea.Cmd { return copyScript(s) }),
	}
}

// HelpKeys returns the lab's keys, for the table of a document.
func HelpKeys() shell.Actions { return new(Screen).bindings() }

// show shows a view, which may have to prepare itself.
func (s *Screen) show(name string) {
	for _, v := range s.views.list {
		if o, ok := v.(interface{ open(*Screen) error }); ok && v.name() == name {
			if err := o.open(s); err != nil {
				s.fail(err)
				return
			}
		}
	}
	s.view(name)
}

// started returns what a view wants to be done beside what goes on.
func (s *Screen) started() tea.Cmd {
	later := s.later
	s.later = nil
	return tea.Batch(later...)
}

func (s *Screen) play() {
	if s.app.Options.Still {
		s.app.Say("The clock moves by hand alone: step with the arrows, or go to a time with g.")
		return
	}
	s.clock.play(!s.clock.playing)
}

func (s *Screen) step() {
	s.clock.play(false)
	if !s.run.Step() {
		s.run.AdvanceTo(s.run.Now().Add((s.run.Setup().Limit.Window / 20).Truncate(time.Millisecond)))
	}
	s.follow()
}

func (s *Screen) stepBack() {
	s.halt()
	s.run.StepBack()
	s.follow()
}

// anew shows a run that was begun anew.
func (s *Screen) anew(err error) {
	if err != nil {
		s.fail(err)
		return
	}
	s.renew()
}

// takeBack takes a restart back.
func (s *Screen) takeBack() {
	s.run, s.past = s.past, nil
	s.halt()
	s.renew()
	s.app.Say("The run is as it was before the restart.")
}

// enter inspects from the lanes, and tries from the text.
func (s *Screen) enter() {
	switch name := chosen(s); {
	case name != "":
		typeNumber(s, name)
	case s.shows("compare"):
		s.show("decision")
	case s.shows("lesson"):
		s.show("compare")
	}
}

// askTime lets a person type where to go.
func (s *Screen) askTime() {
	s.app.Open(s.app.NewPrompt("go to ", "", "seconds, or 999ms, 1m · enter goes · esc stays", nil, func(text string, kept bool) tea.Cmd {
		if !kept {
			return nil
		}
		d, err := readTime(text)
		if err != nil {
			return s.app.Warn("A time is a number of seconds, or one with its unit: 9.9, 9.9s, 999ms, 1m.")
		}
		s.follow()
		return s.goTo(s.run.Setup().Zero.Add(d))
	}, nil))
}

// readTime reads seconds, or a duration with units, to the microsecond.
func readTime(s string) (time.Duration, error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < 1e9 {
		return time.Duration(v*1e6+0.5) * time.Microsecond, nil
	}
	d, err := time.ParseDuration(s)
	return max(d, 0).Truncate(time.Microsecond), err
}

// showHow plays the lesson's own solution.
func (s *Screen) showHow() {
	if err := s.solve(); err != nil {
		s.fail(err)
		return
	}
	if g := s.at().Goal; g != nil && (g.Kind == lab.GoalMost || g.Kind == lab.GoalCheapest) {
		s.focus = g.Answer(s.run)
	}
	s.renew()
	s.view("compare")
	s.app.Say("This is one way. Step back with ← to see it move; R restarts for a try of your own.")
}

// Legend is what the shapes mean.
func (*Screen) Legend(p *widget.Canvas) []widget.Span {
	look := p.Look
	return []widget.Span{
		widget.Styled(string(look.Rise[len(look.Rise)-1])+"\tadmitted", look.Admitted),
		widget.Styled(string(look.Cross)+"\tdenied", look.Denied),
		widget.Styled(string(look.MarkYes)+"\tyours, admitted", look.Injected),
		widget.Styled(string(look.MarkNo)+"\tyours, denied", look.Injected),
		widget.Styled(string([]rune{look.TooMany, ' ', look.Excess})+"\tbeyond its true window: wrong, or as promised", look.Near),
		widget.Styled(string(look.TooFew)+"\tdenied, with room in its own true window", look.Near),
		widget.Styled(string(look.Room)+"\tstill to come", look.Text),
		widget.Styled(string(look.Edge)+"\ta window on the clock begins", look.Dim),
	}
}

// view is one picture of the lab.
type view interface {
	name() string
	// layout is called before paint, with the room there is.
	layout(s *Screen, r cell.Rect)
	paint(p painter, r cell.Rect)
	// move selects what is above or below.
	move(s *Screen, by int)
	// keys are those of this view alone; they go before the lab's.
	keys() shell.Actions
}

// plain is a view without a choice, and with the keys that it is given.
type plain struct {
	title   string
	actions shell.Actions
}

func (v plain) name() string            { return v.title }
func (v plain) keys() shell.Actions     { return v.actions }
func (plain) layout(*Screen, cell.Rect) {}
func (plain) move(*Screen, int)         {}

// act is an action whose work is done at once.
func act(group, name, shown, what string, do func(), keys ...string) shell.Action {
	return shell.Bind(group, name, shown, what, func() tea.Cmd { do(); return nil }, keys...)
}

// views are the pictures of the lab, one of which is shown. The first is the one to go back to.
type views struct {
	list     []view
	current  int // number of the one that is shown
	decision *decisionView
}

// front returns the view that is shown.
func (v *views) front() view { return v.list[v.current] }

// view shows the view of that name.
func (v *views) view(name string) {
	for i, one := range v.list {
		if one.name() == name {
			v.current = i
		}
	}
}

// shows reports whether the view of that name is shown.
func (v *views) shows(name string) bool { return v.front().name() == name }

// apart reports whether the view that is shown has a run of its own.
func (v *views) apart() bool { return v.shows("quiz") || v.shows("box") }

// after returns the name of the view so many after the one that is shown, or before it. The duel, which begins a story
// of its own, is passed over.
func (v *views) after(by int) string {
	name := v.list[(v.current+len(v.list)+by)%len(v.list)].name()
	if name == duelName {
		name = v.list[(v.current+len(v.list)+2*by)%len(v.list)].name()
	}
	return name
}

// follow lets the decision view follow the newest request, and leaves the text, behind which nothing is seen.
func (v *views) follow() {
	if v.decision.picked = -1; v.shows("lesson") {
		v.current = 0
	}
}

// Back returns what leaves a view for the first one; nil on that.
func (v *views) Back() func() {
	if v.current == 0 {
		return nil
	}
	return func() { v.current = 0 }
}
