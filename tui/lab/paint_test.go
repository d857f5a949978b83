package lab_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	engine "ratescope/model/lab"
	"ratescope/tui/lab"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// keys that a monkey may press: all but those that end the program or write a file.
var monkeyKeys = strings.Fields("space b r + - x p right left < > g R Z [ ] C D Q T 1 2 tab up down a d c enter esc L n N i w v H U B t m ? : y")

// TestAnySizeAnyKeys presses at random on terminals of any size: nothing panics, and a
// frame is exactly as large as the terminal.
func TestAnySizeAnyKeys(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 1))
	for round := range 40 {
		model, err := lab.New(context.Background(), lab.Options{Look: shell.Options{ASCII: round%4 == 0, Still: round%5 == 0}})
		if err != nil {
			t.Fatal(err)
		}
		var m tea.Model = model
		var history []string
		for range 120 {
			if random.IntN(8) == 0 {
				m, _ = m.Update(tea.WindowSizeMsg{Width: random.IntN(200), Height: random.IntN(60)})
			}
			key := monkeyKeys[random.IntN(len(monkeyKeys))]
			if random.IntN(6) == 0 {
				key = string(rune('0' + random.IntN(10)))
			}
			history = append(history, key)
			m, _ = m.Update(tuitest.Key(key))
			if random.IntN(10) == 0 {
				m, _ = m.Update(tea.MouseClickMsg{X: random.IntN(160), Y: random.IntN(50), Button: tea.MouseLeft})
			}
			frame := m.View().Content
			w, h := lab.Size(m)
			lines := strings.Split(frame, "\n")
			if h > 0 && len(lines) != h {
				t.Fatalf("%d lines on %dx%d after %q", len(lines), w, h, history)
			}
			for _, line := range lines {
				if h > 0 && ansi.StringWidth(line) != w {
					t.Fatalf("a line of %d on %dx%d after %q: %q", ansi.StringWidth(line), w, h, history, ansi.Strip(line))
				}
				if round%4 == 0 {
					checkASCII(t, ansi.Strip(line), history)
				}
			}
		}
	}
}

// checkASCII fails for what --ascii must not draw; text may hold ×, · and the like.
func checkASCII(t *testing.T, line string, history []string) {
	t.Helper()
	if i := strings.IndexAny(line, "█▀▄▁▂▃▅▏▌░▒▓│─┊┴╭╮╰╯◆◇●▲▼✓✖"); i >= 0 {
		t.Fatalf("%q in an ASCII frame after %q", line[i:], history)
	}
}

// TestHostileScenario: text of a file must not reach the terminal unescaped.
func TestHostileScenario(t *testing.T) {
	file := `{"id":"x","title":"evil \u001b]0;title\u0007 \u202e","algorithm":"gcra","limit":3,"window_ms":1000,"text":"\u001b[2J\u001b[31m red","goal":{"kind":"largest","of":"gcra","value":9,"say":"do \u001b[1m it\u0000","hint":"\u001b[5n","then":"x"},"steps":[{"t_ms":0}]}`
	list, err := engine.Load([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	model, err := lab.New(context.Background(), lab.Options{Lessons: list})
	if err != nil {
		t.Fatal(err)
	}
	var m tea.Model = model
	m, _ = m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	for _, key := range []string{"C", "D", "Q", "T", "i", "L"} {
		m, _ = m.Update(tuitest.Key(key))
		frame := m.View().Content + m.View().WindowTitle
		for _, bad := range []string{"\x1b]0", "\x1b[2J", "\x1b[5n", "\x07", "\x00", "\u202e"} {
			if strings.Contains(frame, bad) {
				t.Errorf("%q reaches the terminal on screen %s", bad, key)
			}
		}
	}
}

// TestALongWordEndsAHint: a word that is one cell longer than the header is cut.
func TestALongWordEndsAHint(t *testing.T) {
	list, err := engine.Load([]byte(`{"id":"x","title":"x","algorithm":"gcra","limit":3,"window_ms":1000,"text":"x","goal":{"kind":"largest",
		"of":"gcra","value":9,"say":"x","hint":"see ` + strings.Repeat("x", 79) + `","then":"x"},"steps":[{"t_ms":0}]}`))
	if err != nil {
		t.Fatal(err)
	}
	learn(t, 80, 24, lab.Options{Lessons: list}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "i")
		x.See("hint see")
		x.See(strings.Repeat("x", 77) + "…")
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []lab.Options{{Look: shell.Options{FPS: 61}}, {Look: shell.Options{FPS: -1}}, {Look: shell.Options{Theme: "plaid"}}, {Lessons: []engine.Lesson{}}} {
		if _, err := lab.New(context.Background(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// BenchmarkFrame paints the compare screen in the middle of a storm.
func BenchmarkFrame(b *testing.B) {
	list, first, err := engine.Open("storm-without-backoff", nil)
	if err != nil {
		b.Fatal(err)
	}
	model, err := lab.New(context.Background(), lab.Options{Lessons: list, First: first})
	if err != nil {
		b.Fatal(err)
	}
	var m tea.Model = model
	m, _ = m.Update(tea.WindowSizeMsg{Width: 140, Height: 42})
	for _, key := range []string{"C", "g", "3", "5", "enter"} {
		m, _ = m.Update(tuitest.Key(key))
	}
	b.ReportAllocs()
	for b.Loop() {
		m, _ = m.Update(tuitest.Key("["))
		m, _ = m.Update(tuitest.Key("]"))
		_ = m.View()
	}
}
