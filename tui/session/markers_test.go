package session_test

import (
	"cmp"
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
	lasts   time.Duration // 0 is an hour
	running bool
}

func (p *standing) Now(time.Time) limiter.Instant { return p.at }
func (p *standing) Playback(time.Time) model.Playback {
	begin := limiter.InstantOf(tuitest.Dawn)
	return model.Playback{Begin: begin, End: begin.Add(cmp.Or(p.lasts, time.Hour)), At: p.at, Speed: 1, Paused: !p.running}
}
func (p *standing) Pause()                  { p.running = !p.running }
func (p *standing) Seek(to limiter.Instant) { p.at = to }
func (p *standing) Restart()                {}
func (p *standing) Faster(bool)             {}

// obey presses keys and carries out the commands that they start, with what those bring.
func obey(s *tuitest.Stage, names ...string) {
	for _, name := range names {
		_, cmd := s.App.Update(tuitest.Key(name))
		obeyAll(s, messages(cmd))
		s.App.View()
	}
}

// obeyAll hands messages on, and what comes of them.
func obeyAll(s *tuitest.Stage, list []tea.Msg) {
	for _, msg := range list {
		if msg == nil {
			continue
		}
		_, cmd := s.App.Update(msg)
		obeyAll(s, messages(cmd))
	}
}

// TestMarkers: a moment is marked, listed, kept and gone to, and so are events.
func TestMarkers(t *testing.T) {
	begin := limiter.InstantOf(tuitest.Dawn)
	after := func(seconds float64) limiter.Instant { return begin.Add(time.Duration(seconds * 1e9)) }
	p := &standing{at: after(20), running: true}
	var kept []record.Marker
	var fails error
	var exported []record.Marker
	searched := 0
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Source: session.Source{Player: p}, Markers: state.MarkerOptions{
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
	s.Run(2 * time.Second)
	s.See("+ faster  - slower  R anew  p pause")
	at := func(want limiter.Instant) {
		t.Helper()
		if p.at != want {
			t.Errorf("the replay stands %v after its beginning, not %v", p.at.Sub(begin), want.Sub(begin))
		}
	}
	obey(s, "*")
	s.See("mark 09:00:20.000")
	obey(s, "p", "e", "a", "k", "enter")
	s.See("Marked: 09:00:20.000", "peak")
	if len(kept) != 2 || kept[1].At != after(20) || kept[1].Text != "peak" || kept[1].Key == "" {
		t.Fatalf("kept: %+v", kept)
	}
	obey(s, ")")
	at(after(30.25))
	s.Batch()
	s.See("09:00:30.000 login:otp is throttled", "p goes on")
	if p.running {
		t.Error("the replay runs on from where it was sent")
	}
	obey(s, ")")
	at(after(40))
	obey(s, ")")
	s.See("Nothing happened after this moment.")
	obey(s, "(", "(")
	at(after(20))
	obey(s, "{")
	at(after(5))
	obey(s, "{")
	s.See("No marker is set before this moment")
	obey(s, "}")
	at(after(20))
	goBack(s, "09:00:40")
	at(after(40))
	p.lasts = 72 * time.Hour // in which the time of day comes three times
	goBack(s, "09:00:50")
	at(after(50))
	p.at, p.lasts = after(20), 0
	if searched != 1 {
		t.Errorf("the recording was looked through %d times", searched)
	}

	obey(s, "5", "/")
	for _, r := range "marker" {
		obey(s, string(r))
	}
	obey(s, "enter")
	s.See("peak", "before")
	obey(s, "E", "enter")
	s.See("Exported x.csv to /")
	if len(exported) != 2 || exported[0].Text != "before" || exported[1].Kind != record.MarkerSet {
		t.Errorf("exported: %+v", exported)
	}
	obey(s, "end", "enter") // the oldest
	at(after(5))
	fails = errors.New("the disk is full")
	obey(s, "*")
	s.See("without one the marker is taken away")
	for range "before" {
		obey(s, "backspace")
	}
	obey(s, "enter")
	s.See("The marker is not kept: the disk is full")
	if len(kept) != 1 || kept[0].Text != "peak" {
		t.Errorf("kept after one was taken away: %+v", kept)
	}
}

// TestAnEventOfAReplayLeadsToItsMoment: the replay goes there and stands, so that every pane is of that moment, and arrows go on from it.
func TestAnEventOfAReplayLeadsToItsMoment(t *testing.T) {
	begin := limiter.InstantOf(tuitest.Dawn)
	p := &standing{at: begin.Add(20 * time.Second), running: true}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Source: session.Source{Player: p}}}, tuitest.Overrun()...)
	s.Run(12 * time.Second)
	s.Press("5", "end", "enter")
	was := p.at
	if s.App.Screen() != "dashboard" || was > begin.Add(13*time.Second) || p.running || s.Session.Shown.At() != was {
		t.Errorf("on the %s the replay is %v after its beginning, runs: %v", s.App.Screen(), was.Sub(begin), p.running)
	}
	s.Press("left")
	if p.at >= was {
		t.Errorf("← leads from %v to %v", was.Sub(begin), p.at.Sub(begin))
	}
}

// TestMarkersAreOfAReplay: a dashboard that is live says so.
func TestMarkersAreOfAReplay(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(2 * time.Second)
	s.Press("*")
	s.See("Only a replay has markers")
	if strings.Contains(s.Text(), "mark 09:") {
		t.Error("a live moment can be marked")
	}
}
