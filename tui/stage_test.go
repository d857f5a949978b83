package tui_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are this machine's
	os.Exit(m.Run())
}

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
func check(s *tuitest.Stage, what string) {
	s.Helper()
	v := s.App.View()
	text := withoutColours(v.Content)
	if i := strings.IndexFunc(text+v.WindowTitle, obeyed); i >= 0 {
		s.Fatalf("%s at %dx%d: the screen writes %q\n%s", what, s.W, s.H, (text + v.WindowTitle)[i:min(i+12, len(text))], text)
	}
	if !utf8.ValidString(text) {
		s.Fatalf("%s at %dx%d: the screen is not UTF-8", what, s.W, s.H)
	}
	if strings.ContainsRune(v.WindowTitle, '\n') {
		s.Fatalf("%s: the title is %q", what, v.WindowTitle)
	}
	if s.H <= 0 {
		if v.Content != "" {
			s.Fatalf("%s at %dx%d: the screen is %q", what, s.W, s.H, v.Content)
		}
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) != s.H {
		s.Fatalf("%s at %dx%d: %d lines", what, s.W, s.H, len(lines))
	}
	for y, line := range lines {
		if n := ansi.StringWidth(line); n != max(s.W, 0) {
			s.Fatalf("%s at %dx%d: line %d is %d columns wide: %q", what, s.W, s.H, y, n, line)
		}
	}
}

// hits returns what the open picker lists, the best first.
func hits(s *tuitest.Stage) []shell.Choice {
	if p, ok := s.App.Over.(*shell.Picker); ok {
		return p.Hits()
	}
	return nil
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
