// Package lab is the teaching screen: a model/lab comparison on a clock in the viewer's
// hand. It needs no Redis and no network. It is a screen of tui/shell, among those of the
// dashboard or alone in a program of its own; its pictures are views, a file each.
package lab

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// Screen is the lab in a shell. Make one with NewScreen.
type Screen struct {
	app   *shell.App
	redis lab.Redis
	ran   [lab.MaxCandidates]ran
	story

	views
	results results

	task     task
	focus    int   // candidate
	lit      light // of its rule
	zoom     int   // steps from the range that a lesson begins with
	hint     bool
	number   int // of the task that is chosen; -1 none
	actions  shell.Actions
	later    []tea.Cmd // to be started when the message at hand was handled
	guess    guess
	presents bool
	save     func(name string, content []byte) error
	class    classroom
}

// painter draws the screen on a canvas.
type painter struct {
	c *widget.Canvas
	s *Screen
}

// doneMsg keeps what a view had worked out beside what goes on.
type doneMsg func()

// savedMsg comes when a file was written.
type savedMsg struct {
	name string
	err  error
}

// NewScreen returns the lab for a program.
func NewScreen(app *shell.App, o Options) (*Screen, error) {
	if o.Lessons == nil {
		o.Lessons = lab.Lessons()
	}
	if len(o.Lessons) == 0 {
		return nil, errors.New("there is nothing to teach: give a scenario file with at least one scenario")
	}
	if o.Save == nil {
		o.Save = SaveNew
	}
	s := &Screen{app: app, redis: o.Redis, story: story{lessons: o.Lessons, trace: o.Trace}, lit: -1,
		results: results{Memory: o.Memory, keep: o.Remember},
		class:   classroom{Class: o.Class, messages: o.Messages}}
	s.results.Reached, s.results.Scores = slices.Clone(o.Memory.Reached), maps.Clone(o.Memory.Scores)
	s.presents, s.save, s.number = o.Present, o.Save, -1
	s.views.decision = newDecisionView(s)
	s.views.list = []view{compareView{plain{title: "compare"}}, s.views.decision, newQuizView(s),
		&textView{plain: plain{title: "lesson"}, text: viewport.New()}, newMapView(s), &accuracyView{plain: plain{title: "accuracy"}},
		newBoxView(s), newDuelView(s)}
	if s.class.teaches() {
		s.views.list = append(s.views.list, newStudentsView(s))
	}
	s.actions = append(s.bindings(), s.class.keys(s)...)
	s.guess = newGuess(s)
	if err := s.open(o.First); err != nil {
		return nil, err
	}
	if s.at().Goal != nil && !s.presents {
		s.view("lesson")
	}
	defer func() { s.results.before = s.memory() }()
	if o.Shared != nil {
		return s, s.openShared(*o.Shared)
	}
	left, err := lab.ReadShared(o.Memory.Moment)
	if err == nil { // it goes on where it was left
		err = s.openShared(left)
	}
	if err != nil && o.Play && o.Memory.Reached == nil && o.Lessons[0].Plain {
		s.play()
		s.view("compare")
		s.due, s.showsUntil, s.clock.speed = solution(s.at(), s.run.Setup().Zero), s.run.Setup().Zero.Add(s.at().Length()), showSpeed
	}
	if s.class.teaches() && len(s.class.Now().Students) == 0 {
		s.view(studentsName) // it says what students type to come in
	}
	return s, nil
}

// The groups of actions that move the lesson's story.
const fireGroup, timeGroup = "fire", "time"

// Keys lists what can be done here: what the view adds goes first. A view with a story of
// its own takes away what moves the lesson's.
func (s *Screen) Keys() shell.Actions {
	if s.seek != nil || s.showsUntil != 0 {
		return nil // any key stops it, see Update
	}
	v := s.front()
	list := append(shell.Actions(nil), v.keys()...)
	if s.guess.asked && !s.guess.in(s) && !s.shows("quiz") {
		list = append(list, s.guess.keys...)
	}
	apart := s.apart()
	for _, act := range s.actions {
		if !apart || act.Group != fireGroup && act.Group != timeGroup {
			if !apart && !slices.Contains(taskHints, act.Name) {
				act.Hint = ""
			}
			if act.Name == "expand" && chosen(s) != "" { // first, for a footer is cut at its end
				list = append(shell.Actions{act.Hinted("types it")}, list...)
				continue
			}
			list = append(list, act)
		}
	}
	return s.class.hold(list)
}

// taskHints are the actions that the footer names beside a lesson's task.
var taskHints = []string{"fire", "burst", "hint", "next lesson", "play", "go to"}

// Pace is that of the pictures while the clock of the story runs.
func (s *Screen) Pace() time.Duration {
	switch {
	case s.clock.playing:
		return s.app.Options.Frame()
	case s.class.teaches(), s.class.following, s.shows(duelName):
		return showEvery
	}
	return 0
}

// Update handles what the shell hands on.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.LayoutMsg:
		s.task.update(s)
		s.class.report(s)
		s.front().layout(s, s.body(msg.Area))
		return s.started()
	case doneMsg:
		msg()
		s.app.Redraw()
	case OpenMsg:
		if err := s.study(msg.Trace); err != nil {
			s.app.Warn("The lab cannot open it: " + err.Error() + ".")
		}
	case relayedMsg:
		return s.class.take(s, msg.msg)
	case shell.TickMsg:
		if s.advance(msg.At); s.showsUntil != 0 && s.run.Now() >= s.showsUntil {
			s.handOver()
		}
		s.class.teach(s, msg.At)
		if v, ok := s.front().(*duelView); s.clock.playing || s.class.joined() || ok && v.tick(msg.At) {
			s.app.Redraw()
		}
	case shell.HiddenMsg, shell.StopMsg:
		s.halt()
	case onwardMsg:
		s.app.Redraw()
		return s.seekOn()
	case savedMsg:
		if msg.err != nil {
			s.app.Warn("Not saved: " + msg.err.Error() + ".")
		} else {
			s.app.Say(strings.TrimSpace("Saved "+msg.name+" "+shell.Folder()) + ".")
		}
	case tea.KeyPressMsg:
		if s.seek != nil { // it stays where it has come
			s.seek, s.due = nil, nil
		}
		if s.showsUntil != 0 {
			s.handOver()
			if act := s.Keys().Match(msg); act != nil && act.Enabled() && act.Group != fireGroup { // the key does what it says as well
				return act.Do()
			}
		}
	case tea.MouseWheelMsg:
		s.front().move(s, shell.Wheel(msg))
	case tea.MouseMotionMsg:
		if m := msg.Mouse(); m.Button == tea.MouseLeft {
			cmd, _ := s.app.Canvas.Click(m.X, m.Y)
			s.app.Redraw()
			return cmd
		}
		if before := s.lit; s.app.Over == nil {
			if !s.app.Canvas.Hover(msg.X, msg.Y) {
				s.lit = -1
			}
			if s.lit != before {
				s.app.Redraw()
			}
		}
	}
	return nil
}

// body is the room for a view.
func (s *Screen) body(r cell.Rect) cell.Rect {
	_, rest := r.Top(rowsOfHeader(s, r.H))
	body, _ := rest.Top(rest.H - 1)
	return body
}

// Paint draws the header, the view and the seek bar.
func (s *Screen) Paint(c *widget.Canvas, r cell.Rect) {
	p := painter{c, s}
	header, _ := r.Top(rowsOfHeader(s, r.H))
	if large(s, r.H) {
		p.paintLargeHeader(header)
	} else {
		p.paintHeader(header)
	}
	p.s.front().paint(p, s.body(r))
	p.paintSeek(cell.Rect{X: r.X, Y: r.Y + r.H - 1, W: r.W, H: 1})
}

// fail says what was not possible.
func (s *Screen) fail(err error) {
	text := err.Error()
	s.app.Warn(strings.ToUpper(text[:1]) + text[1:] + ".")
}

// begin opens a lesson and shows its text, or without a task the lanes.
func (s *Screen) begin(i int) {
	if i < 0 || i >= len(s.lessons) {
		s.app.Say("This is the " + collect.If(i < 0, "first", "last") + " lesson: L lists them all.")
		return
	}
	if err := s.open(i); err != nil {
		s.app.Warn("The lesson cannot be shown: " + err.Error() + ".")
		return
	}
	s.focus, s.lit, s.zoom, s.hint, s.number = 0, -1, 0, false, -1
	s.renew()
	s.view("lesson")
	if s.at().Goal == nil {
		s.view("compare")
	}
}

// handOver begins the lesson whose solution was shown.
func (s *Screen) handOver() {
	s.showsUntil = 0
	s.begin(s.lesson)
	s.app.Say("That is how it goes wrong. Now make it happen yourself.")
}

// renew makes views forget what they had of another run.
func (s *Screen) renew() {
	s.guess.asked = false
	s.focus = min(s.focus, len(s.run.Setup().Candidates)-1)
	for _, v := range s.views.list {
		if r, ok := v.(interface{ reset() }); ok {
			r.reset()
		}
	}
}

// Options says what the lab shows and how. The zero Options teaches the lessons that come
// with the program.
type Options struct {
	Lessons []lab.Lesson // nil means lab.Lessons
	First   int          // the number of the lesson that is on screen first, from 0
	Shared  *lab.Shared  // a moment to open, in place of the beginning of a lesson; may be nil
	Trace   *lab.Trace   // recorded traffic that can be put in place of a lesson's; may be nil

	Redis lab.Redis // runs the scripts whose commands are shown; nil shows none

	// Save writes an exported file and must not overwrite one; nil writes it into the
	// current folder.
	Save func(name string, content []byte) error

	Memory   Memory             // what a person did before
	Remember func(Memory) error // keeps it, when the program ends; nil forgets it

	Class    Class          // the room that the lab belongs to; nil outside one
	Messages <-chan tea.Msg // more messages for the program, as of another terminal size; may be nil

	Look    shell.Options // themes, marks and pace; 0 FPS means 20. A class does not time its messages
	Present bool          // begin in presenter mode
	Play    bool          // show the first lesson's solution before it begins, to a person of whom there is no Memory
}

// Run shows the lab until the user quits or ctx ends. Whatever happens, the terminal is
// left as it was.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	app, s, err := program(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(app.Run(extra...), s.Keep())
}

// New returns a program that shows the lab alone.
func New(ctx context.Context, o Options) (*shell.App, error) {
	app, _, err := program(ctx, o)
	return app, err
}

func program(ctx context.Context, o Options) (*shell.App, *Screen, error) {
	o.Look.Name, o.Look.Mouse, o.Look.FPS = "ratescope lab", true, cmp.Or(o.Look.FPS, 20)
	app, err := shell.New(ctx, o.Look)
	if err != nil {
		return nil, nil, err
	}
	s, err := NewScreen(app, o)
	if err != nil {
		return nil, nil, err
	}
	app.Host.Init = func() tea.Cmd { return s.class.relay(app.Context()) }
	app.Host.Decorate = func(v *tea.View) {
		v.WindowTitle = "ratescope lab " + safetext.Clip(safetext.Clean(s.at().Title), 60, safetext.Ellipsis)
		if s.seek != nil {
			v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*s.seek.done(s.run.Now())))
		}
	}
	app.Register("lab", "shows the lab", s)
	return app, s, nil
}

// SaveNew writes a file that does not exist yet.
func SaveNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// Memory is what a person did in the lab, for the next time.
type Memory struct {
	Reached []string             `json:"reached,omitempty"` // lessons whose goal was reached, by their names
	Scores  map[string]lab.Score `json:"scores,omitempty"`  // predictions, by algorithm
	Named   Named                `json:"named,omitzero"`    // boxes whose limiter was to be named
	Moment  string               `json:"moment,omitempty"`  // where it was left, as lab.Shared.Line writes it
}

// results are what a person reached in the lab.
type results struct {
	Memory                    // but for the moment
	before Memory             // what was remembered at the start
	left   lab.Shared         // where the story stood before the game attack and defend
	keep   func(Memory) error // nil: what was done is forgotten
}

// predicted counts a prediction of what becomes of a request, or of when its slot frees, and returns all those about its
// algorithm.
func (r *results) predicted(c lab.Candidate, right, slot bool) lab.Score {
	now := r.Scores[c.String()]
	asked, hits := &now.Asked, &now.Right
	if slot {
		asked, hits = &now.SlotsAsked, &now.SlotsRight
	}
	if *asked++; right {
		*hits++
	}
	collect.Put(&r.Scores, c.String(), now)
	return now
}

// total returns the predictions about all algorithms.
func (r *results) total() (t lab.Score) {
	for _, s := range r.Scores {
		t = t.Plus(s)
	}
	return t
}

// Keep has what was done remembered, at the end of the program, where it has changed.
func (s *Screen) Keep() error {
	if now := s.memory(); s.results.keep != nil && !reflect.DeepEqual(now, s.results.before) {
		return s.results.keep(now)
	}
	return nil
}

// memory is what is to be remembered: what was reached, and where the story stands.
func (s *Screen) memory() Memory {
	m := Memory{Scores: maps.Clone(s.results.Scores), Named: s.results.Named, Reached: slices.Sorted(slices.Values(s.results.Reached))}
	stands, begun := s.moment(), s.run.Decided() > 0
	if s.at().ID == lab.DuelID && s.results.left.Lesson.ID != "" { // a game does not go on at the next start
		stands, begun = s.results.left, true
	}
	if line, err := stands.Line(); err == nil && begun {
		m.Moment = line
	}
	return m
}
