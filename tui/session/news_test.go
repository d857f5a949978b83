package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// raw returns what a command writes to the terminal past the screen.
func raw(cmd tea.Cmd) string {
	if cmd == nil {
		return ""
	}
	switch msg := cmd().(type) {
	case tea.RawMsg:
		return fmt.Sprint(msg.Msg)
	case tea.BatchMsg:
		text := ""
		for _, c := range msg {
			text += raw(c)
		}
		return text
	}
	return ""
}

// TestAlertsAreSeen: an alert that fires has a banner on every screen and is in the title, calls
// once, and both are gone when it has ended. Its text obeys nothing.
func TestAlertsAreSeen(t *testing.T) {
	key, other := report.Text("rl:a\x1b]0;owned\a"), report.Text("rl:b")
	alert := func(key *report.Text, state string) session.News {
		a := report.Alert{Alert: "full", State: state, Severity: "page", Key: key, Text: "full: " + *key + " is at 120 %; now"}
		return session.News{Alert: &a}
	}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Notify: session.NotifyDesktop, Production: true, Colour: "red"}})
	s.Run(time.Second)
	if !strings.Contains(s.Text(), " PROD ") || strings.Contains(s.Text(), "ALERT") {
		t.Errorf("the header is wrong:\n%s", s.Text())
	}
	_, cmd := s.App.Update(session.NewsMsg(alert(&key, report.Firing), alert(&other, report.Firing)))
	if text := raw(cmd); !strings.HasPrefix(text, "\a\x1b]9;full: rl:a") || !strings.Contains(text, "(and 1 more)") || strings.Count(text,
		"\x1b]") != 2 || strings.Contains(text, "%;") {
		t.Errorf("it writes %q", text)
	}
	for _, screen := range []string{"1", "2", "4", "5", "6"} {
		s.Press(screen)
		if !strings.Contains(s.Text(), ": full: rl:b is at 120 %") || !strings.Contains(s.Text(), "ALERT at ") ||
			!strings.Contains(s.Text(), "1 more") {
			t.Errorf("there is no banner on screen %s:\n%s", screen, s.Text())
		}
	}
	if title := s.App.View().WindowTitle; !strings.HasPrefix(title, "(2 alerts) ratescope ") {
		t.Errorf("the title is %q", title)
	}
	_, cmd = s.App.Update(session.NewsMsg(alert(&key, report.Resolved), alert(&other, report.Resolved),
		session.News{Failed: "the webhook at h does not answer"}))
	if text := raw(cmd); text != "" || strings.Contains(s.Text(), "ALERT") || !strings.Contains(s.Text(), "does not answer") ||
		strings.Contains(s.App.View().WindowTitle, "alert") {
		t.Errorf("after its end it writes %q:\n%s", text, s.Text())
	}
	for _, size := range [][2]int{{60, 20}, {80, 24}, {61, 20}} {
		s.Size(size[0], size[1])
		s.App.Update(session.NewsMsg(alert(&key, report.Firing)))
		if lines := strings.Split(s.Text(), "\n"); len(lines) != size[1] || !strings.Contains(s.Text(), "ALERT") {
			t.Errorf("at %v there are %d lines:\n%s", size, len(lines), s.Text())
		}
	}
}

// TestABannerSaysWhatWasNotDelivered: while an alert fires that was not delivered, its banner says so on every screen, until a
// delivery succeeds.
func TestABannerSaysWhatWasNotDelivered(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(time.Second)
	fires := func(rule, state string) session.News {
		key := report.Text("rl:" + rule)
		return session.News{Alert: &report.Alert{Alert: rule, State: state, Severity: "page", Key: &key, At: s.Now.UnixMilli(),
			Text: "it is full: " + key}}
	}
	delivery := func(rule, state string, o report.DeliveryOutcome) session.News {
		return session.News{Delivery: &report.Delivery{Alert: rule, State: state, Count: 1, To: "the webhook at h\x1b[2J", Outcome: o,
			Why: "it answered 500"}}
	}
	const missed = "not delivered to the webhook at h"
	for _, step := range []struct {
		news []session.News
		says bool
	}{
		{[]session.News{fires("a", report.Firing), delivery("a", report.Firing, report.Retried)}, true},
		{[]session.News{fires("b", report.Firing), delivery("b", report.Firing, report.Delivered)}, true},
		{[]session.News{delivery("a", report.Firing, report.Delivered)}, false},
		{[]session.News{delivery("a", report.Firing, report.Failed)}, true},
		{[]session.News{fires("a", report.Resolved)}, false},
		{[]session.News{delivery("a", report.Resolved, report.Failed), fires("a", report.Firing)}, false},
	} {
		s.App.Update(session.NewsMsg(step.news...))
		for _, screen := range []string{"1", "2", "4", "6"} {
			s.Press(screen)
			if banner := s.Text(); strings.Contains(banner, missed) != step.says || !strings.Contains(banner, "ALERT at ") ||
				step.says && !strings.Contains(banner, "it is full: rl:a") {
				t.Errorf("after %+v screen %s says that it was not delivered: %v, want %v:\n%s", step.news, screen, !step.says, step.says,
					banner)
			}
		}
	}
}
