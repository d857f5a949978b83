package tui_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// standing is a player whose clock stands unless it is moved.
type standing struct {
	at      limiter.Instant
	running bool
}

func (p *standing) Now(time.Time) limiter.Instant { return p.at }
func (p *standing) Playback(time.Time) model.Playback {
	begin := limiter.InstantOf(dawn)
	return model.Playback{Begin: begin, End: begin.Add(time.Hour), At: p.at, Speed: 1, Paused: !p.running}
}
func (p *standing) Pause()                  { p.running = !p.running }
func (p *standing) Seek(to limiter.Instant) { p.at = to }
func (p *standing) Restart()                {}
func (p *standing) Faster(bool)             {}

// obey presses keys and carries out the commands that they start, with what those bring.
func (s *stage) obey(names ...string) {
	for _, name := range names {
		_, cmd := s.app.Update(tuitest.Key(name))
		s.obeyAll(messages(cmd))
		s.app.View()
	}
}

// obeyAll hands messages on, and what comes of them.
func (s *stage) obeyAll(list []tea.Msg) {
	for _, msg := range list {
		if msg == nil {
			continue
		}
		_, cmd := s.app.Update(msg)
		s.obeyAll(messages(cmd))
	}
}

// TestMarkers: a moment is marked, listed, kept and gone to, and so are events.
func TestMarkers(t *testing.T) {
	begin := limiter.InstantOf(dawn)
	after := func(seconds float64) limiter.Instant { return begin.Add(time.Duration(seconds * 1e9)) }
	p := &standing{at: after(20), running: true}
	var kept []record.Marker
	var fails error
	var exported []record.Marker
	searched := 0
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Source: session.Source{Player: p}, Markers: state.MarkerOptions{
		Set:  []record.Marker{{At: after(5), Kind: record.MarkerSet, Text: "before"}},
		Keep: func(list []record.Marker) error { kept = slices.Clone(list); return fails },
		Happened: func(context.Context) ([]record.Marker, error) {
			searched++
			return []record.Marker{{At: after(30), Seen: after(30.25), Kind: record.MarkerEvent, Key: "login:otp", Text: "is throttled"},
				{At: after(40), Kind: record.MarkerFired, Key: "gone", Text: "fired from here: 1 admitted, 0 denied"}}, nil
		},
	}, Saving: state.FileOptions{ExportEvents: func(server string, list []record.Marker, f report.Format) (string, error) {
		exported = list
		return "x." + string(f), nil
	}}}})
	s.run(2 * time.Second)
	s.see("+ faster  - slower  R anew  p pause")
	at := func(want limiter.Instant) {
		t.Helper()
		if p.at != want {
			t.Errorf("the replay stands %v after its beginning, not %v", p.at.Sub(begin), want.Sub(begin))
		}
	}
	s.obey("*")
	s.see("mark 09:00:20.000")
	s.obey("p", "e", "a", "k", "enter")
	s.see("Marked: 09:00:20.000", "peak")
	if len(kept) != 2 || kept[1].At != after(20) || kept[1].Text != "peak" || kept[1].Key == "" {
		t.Fatalf("kept: %+v", kept)
	}
	s.obey(")")
	at(after(30.25))
	s.batch()
	s.see("09:00:30.000 login:otp is throttled", "p goes on")
	if p.running {
		t.Error("the replay runs on from where it was sent")
	}
	s.obey(")")
	at(after(40))
	s.obey(")")
	s.see("Nothing happened after this moment.")
	s.obey("(", "(")
	at(after(20))
	s.obey("{")
	at(after(5))
	s.obey("{")
	s.see("No marker is set before this moment")
	s.obey("}")
	at(after(20))
	if searched != 1 {
		t.Errorf("the recording was looked through %d times", searched)
	}

	s.obey("5", "/")
	for _, r := range "marker" {
		s.obey(string(r))
	}
	s.obey("enter")
	s.see("peak", "before")
	s.obey("E", "enter")
	s.see("Exported x.csv to /")
	if len(exported) != 2 || exported[0].Text != "before" || exported[1].Kind != record.MarkerSet {
		t.Errorf("exported: %+v", exported)
	}
	s.obey("end", "enter") // the oldest
	at(after(5))
	fails = errors.New("the disk is full")
	s.obey("*")
	s.see("without one the marker is taken away")
	for range "before" {
		s.obey("backspace")
	}
	s.obey("enter")
	s.see("The marker is not kept: the disk is full")
	if len(kept) != 1 || kept[0].Text != "peak" {
		t.Errorf("kept after one was taken away: %+v", kept)
	}
}

// TestAnEventOfAReplayLeadsToItsMoment: the replay goes there and stands, so that every pane is of that moment, and arrows go on from it.
func TestAnEventOfAReplayLeadsToItsMoment(t *testing.T) {
	begin := limiter.InstantOf(dawn)
	p := &standing{at: begin.Add(20 * time.Second), running: true}
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Source: session.Source{Player: p}}}, tuitest.Overrun()...)
	s.run(12 * time.Second)
	s.press("5", "end", "enter")
	was := p.at
	if s.app.Screen() != "dashboard" || was > begin.Add(13*time.Second) || p.running || s.app.At() != was {
		t.Errorf("on the %s the replay is %v after its beginning, runs: %v", s.app.Screen(), was.Sub(begin), p.running)
	}
	s.press("left")
	if p.at >= was {
		t.Errorf("← leads from %v to %v", was.Sub(begin), p.at.Sub(begin))
	}
}

// TestMarkersAreOfAReplay: a dashboard that is live says so.
func TestMarkersAreOfAReplay(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{})
	s.run(2 * time.Second)
	s.press("*")
	s.see("Only a replay has markers")
	if strings.Contains(s.text(), "mark 09:") {
		t.Error("a live moment can be marked")
	}
}
