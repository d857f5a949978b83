package lab

import (
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/tui/cell"
)

func TestGlyphsAreEvenAndTellable(t *testing.T) {
	alike := map[string]bool{"S5": true, "5S": true, "'’": true, "’'": true}
	for r, glyph := range large {
		for _, row := range glyph {
			if len(row) != len(glyph[0]) {
				t.Errorf("%c has rows of %d and of %d dots", r, len(glyph[0]), len(row))
			}
		}
		for other, rows := range large {
			if other != r && rows == glyph && !alike[string(r)+string(other)] {
				t.Errorf("%c and %c look the same", r, other)
			}
		}
	}
}

// TestEveryLessonCanBeSetInLargeType looks for letters without a glyph, and for lines that are wider
// than the screen.
func TestEveryLessonCanBeSetInLargeType(t *testing.T) {
	lessons, err := lab.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range lessons {
		run := lab.NewRun(it.Setup(), lab.NewWorkload(nil))
		texts := it.Paragraphs(run)
		if it.Goal != nil {
			texts = append(texts, it.Task(run), it.Hint(run))
		}
		for _, text := range texts {
			if !settable(text) {
				t.Errorf("%s: %q has a letter without a glyph", it.ID, text)
				continue
			}
			for _, cells := range []int{56, 78, 136, 196} {
				for _, line := range wrapType(text, cells) {
					for _, row := range enlarge(line, cells) {
						if n := utf8.RuneCountInString(strings.TrimRight(row, " ")); n > cells {
							t.Errorf("%s: %q takes %d of %d cells", it.ID, line, n, cells)
						}
					}
				}
			}
		}
	}
}

func TestLargeTypeIsSetInHalvesOrQuarters(t *testing.T) {
	if got := enlarge("H1", 140); got != [typeRows]string{"█ █ ▄█  ", "█▀█  █  ", "▀ ▀ ▀▀▀ "} {
		t.Errorf("in halves it is\n%s", strings.Join(got[:], "\n"))
	}
	if got := enlarge("H1", 80); got != [typeRows]string{"▌▌▟ ", "▛▌▐ ", "▘▘▀▘"} {
		t.Errorf("in quarters it is\n%s", strings.Join(got[:], "\n"))
	}
}

// TestTitlesGrowInPresenterMode: every title fits the header in large type on the smallest screen
// that has it, and the header is as high as the rows that are kept for it.
func TestTitlesGrowInPresenterMode(t *testing.T) {
	lessons, err := lab.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range lessons {
		if !settable(it.Title) || cellsOf(it.Title, true) > 78 {
			t.Errorf("%q takes %d cells in large type", it.Title, cellsOf(it.Title, true))
		}
		for _, size := range [][2]int{{80, 24}, {140, 42}, {200, 55}} {
			app, s, err := program(t.Context(), Options{First: i, Present: true})
			if err != nil {
				t.Fatal(err)
			}
			app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			fine := size[0] < finely || cellsOf(it.Title, false) > size[0]-2-cellsOf("0.000 s", true)-3
			cells := finely
			if fine {
				cells--
			}
			frame := strings.Split(ansi.Strip(app.View().Content), "\n")
			for row, text := range enlarge(it.Title, cells) {
				if !strings.Contains(frame[1+row], strings.TrimSpace(text)) {
					t.Errorf("at %v row %d of the title %q is %q", size, row, it.Title, frame[1+row])
				}
			}
			if got := s.presenter.headerRows(size[1]-1) + s.body(cell.Rect{W: size[0], H: size[1] - 1}).H + 1; got != size[1]-1 {
				t.Errorf("at %v header, body and seek bar take %d rows", size, got)
			}
		}
	}
}

// TestGoalsGrowInPresenterMode: every task is on screen to its last word, in large type where the
// lanes keep their room, and the words after it take no more rows.
func TestGoalsGrowInPresenterMode(t *testing.T) {
	lessons, err := lab.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range lessons {
		if it.Goal == nil {
			continue
		}
		for _, size := range [][2]int{{80, 24}, {140, 42}, {200, 55}} {
			app, s, err := program(t.Context(), Options{First: i, Present: true})
			if err != nil {
				t.Fatal(err)
			}
			app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			rows, width := s.presenter.headerRows(size[1]-1), size[0]-2
			frame := strings.Split(ansi.Strip(app.View().Content), "\n")
			large := true
			for n, line := range format.WrapBy(s.presenter.taskWords(), 2*width+1, dotsOf) {
				for row, text := range enlarge(line, finely-1) {
					if at := 1 + typeRows*(n+1) + row; at >= rows || !strings.Contains(frame[at], strings.TrimSpace(text)) {
						large = false
					}
				}
			}
			bold := strings.Join(strings.Fields(strings.Join(frame[1+typeRows:rows], " ")), " ")
			if !large && !strings.Contains(bold, s.presenter.taskWords()) || !large && size[0] > 80 {
				t.Errorf("at %v the task %q is not there: %q", size, s.presenter.taskWords(), bold)
			}
			app.Update(tea.KeyPressMsg{Code: 'H', Text: "H"})
			if now := s.presenter.headerRows(size[1] - 1); now != rows {
				t.Errorf("at %v the header of %s has %d rows, and %d when the goal is reached", size, it.ID, rows, now)
			}
		}
	}
}
