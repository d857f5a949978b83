// Package session holds the state that all screens of the dashboard share: the board of keys and
// the instant at which it is shown, the selected key, the order of the rows, the requests being
// fired, the recording, and the two lines of the header. It is the shell.Host. Each screen is
// drawn by a package of its own.
package session

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/identify"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/firing"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/widget"
)

// Source delivers the batches that are shown.
type Source struct {
	Take  func(context.Context) (model.Batch, error) // waits for the next batch
	Focus func(keys []string)                        // gets the keys on screen; may be nil

	// Player controls a replay, whose batches Take returns; nil for a live source.
	Player state.Player
}

// Options configures a Session.
type Options struct {
	Source  Source
	Inject  firing.Options    // the session sets Name and Mask
	Saving  state.FileOptions // the files that can be saved
	Markers state.MarkerOptions

	// Library describes a library by its name; nil for none.
	Library func(name string) (identify.Library, bool)
	// Teach finds the readings that fit a group of likely limiters under a limit, which may be ""; nil if no rule can be
	// made here.
	Teach Teach

	Target string // what the configuration calls the server; "" for one that is watched alone
	Mask   bool   // hide the middle of key names

	Production bool   // the configuration marks the target as production: a badge says so on every screen
	Colour     string // of the target's name, one of feed/config's; "" is the theme's

	News   func(context.Context) ([]News, error) // waits for news of the alerts of the configuration; nil: there are none
	Notify Notify
}

// Session is the state that the screens share. Use New to make one. It is not safe for concurrent
// use: everything except its commands runs on Bubble Tea's goroutine.
type Session struct {
	Shell     *shell.App
	Shown     *state.Boards
	Rows      *state.List
	Selection *state.Selection
	Orders    *firing.Orders
	Files     *state.Files
	Options   Options
	Peers     []*Session // of all servers in one view, this one among them; nil: it is watched alone

	Marks  *state.Markers // moments of a replay
	Names  names
	Tell   teller
	Past   past
	Alerts alerts
	groups groups
	Step   time.Duration // time between two steps of the screen's timeline; 0 if it has none
}

// New returns a session in a program.
func New(app *shell.App, o Options) *Session {
	o.Inject.Mask = o.Mask
	shown := state.NewBoards(o.Source.Player, app.Options.Still)
	s := &Session{Shell: app, Options: o, Shown: shown, Rows: state.NewList(shown, app.Redraw), Names: names{shown: shown, mask: o.Mask},
		Tell: teller{shown: shown}, Alerts: alerts{app: app, next: o.News, notify: o.Notify},
		groups: groups{app: app, live: shown.Live, library: o.Library, find: o.Teach, mask: o.Mask, told: make(map[string]bool)}}
	s.Past = past{kept: o.Saving.Past, shown: shown, rows: s.Rows}
	s.Selection = state.NewSelection(s.Rows, func() { s.Orders.MarkPlans() }, o.Source.Focus)
	o.Inject.Name = s.Names.Of
	s.Orders = firing.New(app, s.keys(), o.Inject)
	s.Files = state.NewFiles(app, s.Shown, o.Saving)
	s.Marks = state.NewMarkers(app, s.Shown, s.Selection, s.Names.Of, o.Markers)
	h := header{&app.Canvas, s}
	app.Host = shell.Host{Init: s.init, Update: s.update, Pace: s.pace, Header: func(_ *widget.Canvas, r cell.Rect) { h.paint(r) },
		HeaderRows: h.rows, TooSmall: s.Orders.FiringText, Decorate: s.decorate, Back: s.back, HostKeys: s.hostKeys, Legend: legend}
	return s
}

// init returns the commands that wait for the first batch and for outcomes of fired requests.
func (s *Session) init() tea.Cmd { return tea.Batch(s.nextBatch(), s.Orders.Wait(), s.Alerts.wait()) }

// update handles the messages of the source, the injector and the alerts.
func (s *Session) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.TouchMsg:
		s.Selection.Touch(msg.Pressed)
	case shell.TickMsg:
		s.tick(msg.At)
		return s.Past.recall()
	case shell.StopMsg:
		s.Orders.Stop()
	case batchMsg:
		return s.receive(msg)
	case newsMsg:
		return s.Alerts.hear(msg, s.Shown.LiveAt())
	}
	return s.Orders.Update(msg)
}

// hostKeys returns the keys of the dashboard that mean the same on every screen.
func (s *Session) hostKeys() shell.Actions {
	list := s.Orders.HostKeys()
	if s.Peers != nil {
		list = append(list, shell.Bind("view", "next server", "m n", "shows the next of the servers", func() {
			next := s.Peers[(slices.Index(s.Peers, s)+1)%len(s.Peers)].Shell
			next.Group.Front(next)
		}).In(shell.Server))
	}
	return append(list, shell.Bind("view", "watch another", "m w",
		"prints the commands that watch another Redis", func() tea.Cmd { return openTargets(s.Shell) }).In(shell.Server).Also("connect server"))
}

// batchMsg delivers a batch of the source.
type batchMsg struct {
	batch model.Batch
	err   error
}

func (s *Session) nextBatch() tea.Cmd {
	ctx := s.Shell.Context()
	return func() tea.Msg {
		b, err := s.Options.Source.Take(ctx)
		return batchMsg{b, err}
	}
}

// receive applies a batch and waits for the next one.
func (s *Session) receive(msg batchMsg) tea.Cmd {
	if msg.err != nil {
		if s.Shell.Context().Err() == nil && !errors.Is(msg.err, context.Canceled) {
			return s.Shell.Fail(msg.err)
		}
		return tea.Quit
	}
	s.Files.Put(msg.batch)
	change := s.Shown.Apply(msg.batch)
	if s.Shown.Subtracting() && !s.Shown.Paused() {
		s.Rows.Rebind() // the rows are those of the board before
	}
	s.Orders.Meet(s.Shown.Live().Server)
	moves := change.Moves && !s.Shell.Options.Still // else the next second is soon enough
	if !s.Shown.Paused() && (change.Anew || s.Rows.Grown() || !s.Shell.Options.Still && s.Rows.Stirred()) {
		moves = true
		s.Selection.Resort()
		s.Marks.Arrive()
	}
	if !s.Shown.Paused() && (change.Turn || change.Anew || moves && s.Shell.Idle()) { // else the clock's next picture shows it
		s.Shell.Redraw()
	}
	if moves {
		return tea.Batch(s.nextBatch(), s.Shell.Wake())
	}
	return s.nextBatch()
}

// decorate sets the title of the window and, while keys are discovered, the terminal's own
// progress bar.
func (s *Session) decorate(v *tea.View) {
	if !s.Shown.Started {
		return
	}
	v.WindowTitle = "ratescope " + safetext.Clip(safetext.Clean(s.Shown.Live().Server.Target), 60, safetext.Ellipsis)
	if n := len(s.Alerts.list); n > 0 {
		v.WindowTitle = "(" + format.Plural(n, "alert") + ") " + v.WindowTitle
	}
	if armed := s.Orders.ArmedText(); armed != "" {
		v.WindowTitle = armed + " · " + v.WindowTitle
	}
	if w := s.Shown.Live().Sweep; w.Passes == 0 && w.Total > 0 {
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*min(w.Scanned, w.Total)/w.Total))
	}
}

// FullName returns a key's whole name as the terminal may show it, without its middle where
// names are masked.
func FullName(key string, mask bool) string {
	if mask {
		key = safetext.Mask(key)
	}
	return safetext.Clean(key)
}

// BatchMsg returns the message that delivers a batch.
func BatchMsg(b model.Batch) tea.Msg { return batchMsg{batch: b} }

// NewsMsg returns the message that delivers news of the configuration's alerts.
func NewsMsg(n ...News) tea.Msg { return newsMsg{news: n} }

// Visit shows a key on the dashboard at an instant of the past: it pauses the picture, and moves a replay.
func (s *Session) Visit(key string, at limiter.Instant) tea.Cmd {
	if s.Shown.Board().Key(key) == nil {
		return s.Shell.Say("That key is no longer on the board.")
	}
	s.Selection.Pick(key)
	s.Shown.Visit(at, s.Selection.Current())
	s.Rows.Reorder()
	if s.Shown.At() > at {
		s.Shell.Say("Nothing older is kept of " + s.Names.Of(key) + ".")
	}
	return s.Shell.Show("dashboard")
}

// keys is what firing knows of the keys of a session.
func (s *Session) keys() firing.Keys {
	return firing.Keys{Live: s.Shown.Live, LiveAt: s.Shown.LiveAt, Paused: s.Shown.Paused, Age: s.Shown.Age,
		SelectionMoved: s.selectionMoved,
		Selected:       func() string { return s.Selection.Selected }, Group: func() string { return s.Selection.Group },
		Fired: func(f model.Fired) {
			s.Shown.Live().Mark(f)
			s.Files.Fired(f)
		},
		ShowPlans: func(at []limiter.Instant) {
			s.Shown.Time.Plan(at)
			s.Shell.Redraw()
		}}
}

// selectionMoved reports, once, whether the selected key is gone and another key is selected in its
// place, so that a request for the first one does not go to the other.
func (s *Session) selectionMoved() bool {
	lost := s.Selection.TakeLost()
	if lost == "" {
		return false
	}
	now := s.Selection.Selected
	s.Shell.Warn("Nothing was fired: " + s.Names.Of(lost) + " is gone and " + s.Names.Of(now) + " is selected now; press again to fire at it.")
	return true
}
