package tuitest

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// Stage is a dashboard without a program around it: messages go in by hand, and time is what the test says.
type Stage struct {
	testing.TB
	App     *shell.App
	Session *session.Session
	Feed    *Feed
	Now     time.Time
	W, H    int
	Edit    func(*model.Batch) // changes what the feed says; may be nil
}

// Dawn is when tests without a virtual clock begin.
var Dawn = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// NewStage returns a dashboard of a feed that has said nothing yet.
func NewStage(t testing.TB, w, h int, o tui.Options, people ...Personality) *Stage {
	t.Helper()
	app, shared, err := tui.NewDashboard(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage{TB: t, App: app, Session: shared, Feed: NewFeed(Dawn, people...), Now: Dawn}
	s.Size(w, h)
	return s
}

// Size makes the terminal another size.
func (s *Stage) Size(w, h int) {
	s.W, s.H = w, h
	s.App.Update(tea.WindowSizeMsg{Width: w, Height: h})
}

// Run lets time pass.
func (s *Stage) Run(d time.Duration) {
	for end := s.Now.Add(d); s.Now.Before(end); {
		s.Now = s.Now.Add(Refresh)
		s.Batch()
	}
}

// Batch takes in what the feed says now.
func (s *Stage) Batch() {
	b := s.Feed.Advance(s.Now)
	if s.Edit != nil {
		s.Edit(&b)
	}
	s.App.Update(session.BatchMsg(b))
	s.App.View() // as Bubble Tea does after every message
	s.App.Update(shell.TickAt(s.Now))
}

// Press presses keys.
func (s *Stage) Press(names ...string) {
	for _, name := range names {
		s.App.Update(Key(name))
		s.App.View()
	}
}

// Text returns the screen as it can be read.
func (s *Stage) Text() string { return ansi.Strip(s.App.View().Content) }

// See fails the test unless all of the texts can be read.
func (s *Stage) See(texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(s.Text(), text) {
			s.Fatalf("%q is not on screen:\n%s", text, s.Text())
		}
	}
}
