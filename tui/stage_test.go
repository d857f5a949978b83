package tui_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are this machine's
	os.Exit(m.Run())
}

// dawn is when tests without a virtual clock begin.
var dawn = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// stage is a screen without a program around it: messages go in by hand, and time is
// what the test says.
type stage struct {
	testing.TB
	app  *tui.App
	feed *tuitest.Feed
	now  time.Time
	w, h int
	edit func(*model.Batch) // changes what the feed says; may be nil
}

// newStage returns a dashboard that is drawn in one goroutine.
func newStage(t testing.TB, w, h int, o tui.Options, people ...tuitest.Personality) *stage {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	app, err := tui.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{TB: t, app: app, feed: tuitest.NewFeed(dawn, people...), now: dawn}
	s.size(w, h)
	return s
}

func (s *stage) size(w, h int) {
	s.w, s.h = w, h
	s.app.Update(tea.WindowSizeMsg{Width: w, Height: h})
}

// run lets time pass.
func (s *stage) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(tuitest.Refresh)
		s.batch()
	}
}

// pass lets time pass while there is no room to paint anything, which takes most of the time that run takes.
func (s *stage) pass(d time.Duration) {
	w, h := s.w, s.h
	s.size(0, 0)
	s.run(d)
	s.size(w, h)
}

// batch takes in what the feed says now.
func (s *stage) batch() {
	b := s.feed.Advance(s.now)
	if s.edit != nil {
		s.edit(&b)
	}
	s.app.Update(tui.BatchMsg(b))
	s.app.View() // as Bubble Tea does after every message
	s.app.Update(tui.TickMsg(s.now))
}

// press presses keys and carries out what they start.
func (s *stage) press(names ...string) {
	for _, name := range names {
		s.app.Update(tuitest.Key(name))
		s.app.View()
	}
}

// frame returns the screen with its colours.
func (s *stage) frame() string { return s.app.View().Content }

// text returns the screen as it can be read.
func (s *stage) text() string { return ansi.Strip(s.frame()) }

// obeyed says whether a terminal would do something at r other than to show it.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r >= ' ' && r <= '~':
		return false
	case r < 0xa0:
		return true
	}
	return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2069
}

// withoutColours takes the sequences that colour text out of s, and nothing else.
func withoutColours(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		from := strings.Index(s, "\x1b[")
		if from < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := from + 2
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';') {
			end++
		}
		if end < len(s) && s[end] == 'm' {
			b.WriteString(s[:from])
			s = s[end+1:]
			continue
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
}

// check fails the test unless the screen is exactly h lines of w columns, and nothing in
// it but colours is more than text.
func (s *stage) check(what string) {
	s.Helper()
	v := s.app.View()
	text := withoutColours(v.Content)
	if i := strings.IndexFunc(text+v.WindowTitle, obeyed); i >= 0 {
		s.Fatalf("%s at %dx%d: the screen writes %q\n%s", what, s.w, s.h, (text + v.WindowTitle)[i:min(i+12, len(text))], text)
	}
	if !utf8.ValidString(text) {
		s.Fatalf("%s at %dx%d: the screen is not UTF-8", what, s.w, s.h)
	}
	if strings.ContainsRune(v.WindowTitle, '\n') {
		s.Fatalf("%s: the title is %q", what, v.WindowTitle)
	}
	if s.h <= 0 {
		if v.Content != "" {
			s.Fatalf("%s at %dx%d: the screen is %q", what, s.w, s.h, v.Content)
		}
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) != s.h {
		s.Fatalf("%s at %dx%d: %d lines", what, s.w, s.h, len(lines))
	}
	for y, line := range lines {
		if n := ansi.StringWidth(line); n != max(s.w, 0) {
			s.Fatalf("%s at %dx%d: line %d is %d columns wide: %q", what, s.w, s.h, y, n, line)
		}
	}
}

// see fails the test unless all of the texts can be read.
func (s *stage) see(texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(s.text(), text) {
			s.Fatalf("%q is not on screen:\n%s", text, s.text())
		}
	}
}

// scenes are the pictures that the screen can show: keys that lead there from the
// dashboard, and back.
var scenes = []struct {
	name     string
	to, back []string
}{
	{"dashboard", nil, nil},
	{"keys expanded", []string{"enter"}, []string{"esc"}},
	{"timeline expanded", []string{"tab", "enter"}, []string{"esc", "tab", "tab"}},
	{"injector expanded", []string{"tab", "tab", "enter"}, []string{"esc", "tab"}},
	{"groups", []string{"f"}, []string{"f"}},
	{"grid", []string{"2"}, []string{"1"}},
	{"compare", []string{"3"}, []string{"1"}},
	{"health", []string{"4"}, []string{"1"}},
	{"events", []string{"5"}, []string{"1"}},
	{"heat", []string{"6"}, []string{"1"}},
	{"what if", []string{"w", "enter"}, []string{"esc"}},
	{"help", []string{"?"}, []string{"esc"}},
	{"palette", []string{":"}, []string{"esc"}},
	{"themes", []string{"t"}, []string{"esc"}},
	{"filter", []string{"/", "a"}, []string{"esc"}},
	{"paused", []string{"p", "left", "left"}, []string{"p"}},
	{"zoomed", []string{"[", "["}, []string{"]", "]"}},
}
