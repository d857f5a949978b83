package session_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// fits fails the test unless the screen is as large as its terminal, and nothing in it but colours is more than text.
func fits(s *tuitest.Stage, what string) {
	s.Helper()
	text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(s.App.View().Content, "")
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }); i >= 0 {
		s.Fatalf("%s at %dx%d: the screen writes %q\n%s", what, s.W, s.H, text[i:min(i+12, len(text))], text)
	}
	lines := strings.Split(text, "\n")
	if wide := slices.ContainsFunc(lines, func(line string) bool { return ansi.StringWidth(line) != s.W }); wide || len(lines) != s.H {
		s.Fatalf("%s at %dx%d: %d lines\n%s", what, s.W, s.H, len(lines), text)
	}
}

// TestIdentifyOverlay lists the limiters by library, fits every size, and asks what a group is that is only likely, and
// no other: the readings that fit, the limit typed once, and the rule is written and can be taken back.
func TestIdentifyOverlay(t *testing.T) {
	var asked, done []string
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Library: func(name string) (identify.Library, bool) {
		return identify.Library{Silent: []string{"the limit of " + name}}, name == "rate-limit-redis"
	}, Teach: func(_ context.Context, g identify.Group, limit string) ([]identify.Fit, error) {
		asked = append(asked, g.Pattern+" "+limit)
		rest := "what is left of a limit that stands elsewhere"
		fits := []identify.Fit{{As: "what was used", Rule: "{read: value}"}}
		fits = append(fits, identify.Fit{As: rest, Note: "ends as it likes", Rule: "{read: left, limit: " + limit + "}",
			Figures: []identify.Figures{{
				Key: "home:1", Shape: "string, 1 byte, ends in 4m12.5s", Says: "7 of 10 used, written by another program"}}})
		for range 20 {
			fits[0].Figures = append(fits[0].Figures, fits[1].Figures...)
		}
		if limit != "" {
			fits[1].Write = func() (identify.Taught, error) {
				done = append(done, "written")
				return identify.Taught{Where: "/home/me/config.yaml", Undo: func() error {
					done = append(done,
						"taken back")
					return nil
				}}, nil
			}
		}
		return fits, nil
	}}})
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			r := &b.Readings[i]
			if r.Pattern = "rl:*"; i%2 == 1 {
				r.Pattern, r.Target.Evidence, r.Target.Library = "home:\x1b[2J*", model.Likely, "homemade"
				r.Unsettled = []string{"the window: watch on"}
			} else {
				r.Target.Evidence, r.Target.Library = model.Known, "rate-limit-redis"
			}
		}
	}
	s.Run(3 * time.Second)
	s.Press("W")
	s.See("4 kinds of limiters", "rate-limit-redis", "the limit of rate-limit-redis")
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 55}, {140, 42}} {
		s.Size(size[0], size[1])
		fits(s, "the limiters")
	}
	s.Press("enter")
	if len(asked) > 0 {
		t.Errorf("it is asked what known ones are: %q", asked)
	}
	if s.Press("1", "0", "/", "2"); s.App.Screen() != "dashboard" || s.App.Over == nil {
		t.Errorf("what is typed after a choice that is refused leads to %s:\n%s", s.App.Screen(), s.Text())
	}
	s.Press("esc")
	do := func(msg tea.Msg) {
		_, cmd := s.App.Update(msg)
		for _, msg := range messages(cmd) {
			s.App.Update(msg)
		}
	}
	s.Press("end", "W")
	for range 20 {
		s.Press("down")
	}
	s.See("not yet known", "the window: watch on")
	do(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.See("what was used", "what is left", "COUNT/DURATION")
	s.Press("down")
	s.See("home:1", "7 of 10 used", "It ends as it likes", "{read: left")
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 55}, {140, 42}} {
		s.Size(size[0], size[1])
		fits(s, "what they are")
		s.See("It ends as it likes", "{read: left", "esc goes back")
		if s.Press("up"); s.W >= 80 {
			s.See("7 of 10 used, written by another program", "what is left of a limit that stands elsewhere  ", "{read: value}")
		}
		s.Press("down")
	}
	do(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.See("Type the limit first")
	for _, r := range "10/20s" {
		do(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	s.See("limit: 10/20s")
	do(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.See("is in /home/me/config.yaml: z takes it back here, W z later", "take the last rule back", "2 kinds of limiters")
	do(tea.KeyPressMsg{Code: 'z', Text: "z"})
	s.See("is taken back")
	if got := strings.Join(done, ", "); got != "written, taken back" {
		t.Errorf("what was done: %s; asked: %q", got, asked)
	}
	if last := asked[len(asked)-1]; last != "home:\x1b[2J* 10/20s" {
		t.Errorf("asked last: %q", last)
	}
}

// TestTeachingWaitsForItsReadings holds that enter writes the rule with the limit that stands there, and waits until its readings
// have come: neither is it lost, nor is the rule of an earlier limit written.
func TestTeachingWaitsForItsReadings(t *testing.T) {
	var written []string
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Teach: func(_ context.Context, _ identify.Group,
		limit string) ([]identify.Fit, error) {
		fit := identify.Fit{As: "what was used", Rule: "{limit: " + limit + "}"}
		if limit != "" {
			fit.Write = func() (identify.Taught, error) {
				written = append(written, limit)
				return identify.Taught{Where: "/home/me/config.yaml"}, nil
			}
		}
		return []identify.Fit{fit}, nil
	}}})
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			b.Readings[i].Pattern, b.Readings[i].Target.Evidence = "home:*", model.Likely
		}
	}
	s.Run(3 * time.Second)
	s.Press("W")
	var late []tea.Cmd
	do := func(msg tea.Msg) {
		_, cmd := s.App.Update(msg)
		late = append(late, cmd)
	}
	come := func() {
		for len(late) > 0 {
			cmd := late[0]
			late = late[1:]
			for _, msg := range messages(cmd) {
				do(msg)
			}
		}
	}
	do(tea.KeyPressMsg{Code: tea.KeyEnter})
	come()
	for _, r := range "10/1m" {
		do(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	come()
	for _, msg := range []tea.KeyPressMsg{{Code: tea.KeyHome}, {Code: '1', Text: "1"}, {Code: tea.KeyEnter}} {
		do(msg)
	}
	if len(written) > 0 {
		t.Errorf("written before its readings came: %q", written)
	}
	come()
	if len(written) != 1 || written[0] != "110/1m" {
		t.Errorf("written: %q, want 110/1m", written)
	}
	s.See("is in /home/me/config.yaml")
}

// messages carries out a command, and those in it.
func messages(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			all = append(all, messages(c)...)
		}
	default:
		all = append(all, msg)
	}
	return all
}

// TestNothingIsChosenOfEqualReadings: where readings fit equally none is chosen before a person does, and enter says what tells them apart.
func TestNothingIsChosenOfEqualReadings(t *testing.T) {
	written := ""
	fit := func(as string) identify.Fit {
		return identify.Fit{As: as, Rule: "{read: " + as + "}", Unsure: "whether it is in requests", Write: func() (identify.Taught,
			error) {
			written = as
			return identify.Taught{Undo: func() error { return nil }}, nil
		}}
	}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Teach: func(context.Context, identify.Group,
		string) ([]identify.Fit,
		error) {
		return []identify.Fit{fit("units"), fit("requests")}, nil
	}}})
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			b.Readings[i].Pattern, b.Readings[i].Target.Evidence, b.Readings[i].Target.Library = "home:*", model.Likely, ""
		}
	}
	s.Run(3 * time.Second)
	do := func(k tea.KeyPressMsg) {
		_, cmd := s.App.Update(k)
		for _, msg := range messages(cmd) {
			s.App.Update(msg)
		}
	}
	s.Press("W")
	do(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.See("Not settled: whether it is in requests")
	if do(tea.KeyPressMsg{Code: tea.KeyEnter}); written != "" {
		t.Errorf("enter wrote %q, which nobody chose", written)
	}
	s.See("Choose one of them first")
	do(tea.KeyPressMsg{Code: tea.KeyDown})
	do(tea.KeyPressMsg{Code: tea.KeyDown})
	if do(tea.KeyPressMsg{Code: tea.KeyEnter}); written != "requests" {
		t.Errorf("%q is written, want what was chosen", written)
	}
}
