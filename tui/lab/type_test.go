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
	"ratescope/tui/widget"
)

// TestEveryLessonCanBeSetInLargeType looks for letters without a glyph, and for lines that are wider
// than the screen.
func TestEveryLessonCanBeSetInLargeType(t *testing.T) {
	lessons := lab.Lessons()
	for _, it := range lessons {
		run := lab.NewRun(it.Setup(), lab.NewWorkload(nil))
		texts := it.Paragraphs(run)
		if it.Goal != nil {
			texts = append(texts, it.Task(run), it.Hint(run))
		}
		for _, text := range texts {
			if !widget.Settable(text) {
				t.Errorf("%s: %q has a letter without a glyph", it.ID, text)
				continue
			}
			for _, cells := range []int{56, 78, 136, 196} {
				for _, line := range widget.WrapType(text, cells) {
					for _, row := range widget.Enlarge(line, cells < widget.Finely) {
						if n := utf8.RuneCountInString(strings.TrimRight(row, " ")); n > cells {
							t.Errorf("%s: %q takes %d of %d cells", it.ID, line, n, cells)
						}
					}
				}
			}
		}
	}
}

// TestTitlesGrowInPresenterMode: every title fits the header in large type on the smallest screen
// that has it, and the header is as high as the rows that are kept for it.
func TestTitlesGrowInPresenterMode(t *testing.T) {
	lessons := lab.Lessons()
	for i, it := range lessons {
		if !widget.Settable(it.Title) || widget.TypeCells(it.Title, true) > 78 {
			t.Errorf("%q takes %d cells in large type", it.Title, widget.TypeCells(it.Title, true))
		}
		for _, size := range [][2]int{{80, 24}, {140, 42}, {200, 55}} {
			app, s, err := program(t.Context(), Options{First: i, Present: true})
			if err != nil {
				t.Fatal(err)
			}
			app.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			fine := size[0] < widget.Finely || widget.TypeCells(it.Title, false) > size[0]-2-widget.TypeCells("0.000 s", true)-3
			frame := strings.Split(ansi.Strip(app.View().Content), "\n")
			for row, text := range widget.Enlarge(it.Title, fine) {
				if !strings.Contains(frame[1+row], strings.TrimSpace(text)) {
					t.Errorf("at %v row %d of the title %q is %q", size, row, it.Title, frame[1+row])
				}
			}
			if got := rowsOfHeader(s, size[1]-1) + s.body(cell.Rect{W: size[0], H: size[1] - 1}).H + 1; got != size[1]-1 {
				t.Errorf("at %v header, body and seek bar take %d rows", size, got)
			}
		}
	}
}

// TestGoalsGrowInPresenterMode: every task is on screen to its last word, in large type where the
// lanes keep their room, and the words after it take no more rows.
func TestGoalsGrowInPresenterMode(t *testing.T) {
	lessons := lab.Lessons()
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
			rows, width := rowsOfHeader(s, size[1]-1), size[0]-2
			frame := strings.Split(ansi.Strip(app.View().Content), "\n")
			large := true
			for n, line := range format.WrapBy(taskWords(s), 2*width+1, widget.TypeDots) {
				for row, text := range widget.Enlarge(line, true) {
					if at := 1 + widget.TypeRows*(n+1) + row; at >= rows || !strings.Contains(frame[at], strings.TrimSpace(text)) {
						large = false
					}
				}
			}
			bold := strings.Join(strings.Fields(strings.Join(frame[1+widget.TypeRows:rows], " ")), " ")
			if !large && !strings.Contains(bold, taskWords(s)) || !large && size[0] > 80 {
				t.Errorf("at %v the task %q is not there: %q", size, taskWords(s), bold)
			}
			app.Update(tea.KeyPressMsg{Code: 'H', Text: "H"})
			if now := rowsOfHeader(s, size[1]-1); now != rows {
				t.Errorf("at %v the header of %s has %d rows, and %d when the goal is reached", size, it.ID, rows, now)
			}
		}
	}
}

// TestLanesGrowInPresenterMode: with few lanes and with many those on screen have their names, their figures' words, their times and
// the task in large type, before and after requests.
func TestLanesGrowInPresenterMode(t *testing.T) {
	lessons := lab.Lessons()
	for i, it := range lessons {
		app, s, err := program(t.Context(), Options{First: i, Present: true})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
		sees := func(when, text string, fine bool) {
			t.Helper()
			frame := ansi.Strip(app.View().Content)
			for _, row := range widget.Enlarge(text, fine) {
				if !strings.Contains(frame, strings.TrimSpace(row)) {
					t.Fatalf("%s, %s: %q is not in large type:\n%s", it.ID, when, text, frame)
				}
			}
		}
		for _, key := range []rune{'C', 'b', 'H'} {
			app.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
			name, p := s.run.Setup().Candidates[s.focus].Title(), picture{painter{&app.Canvas, s}, s.focus}
			if sees(string(key), name, widget.TypeCells(name, false) >= 66); widget.Settable(p.figure().words[1].Text) {
				sees(string(key), p.figure().words[0].Text, true)
			}
			sees(string(key), "now", true) // below the lanes
			if task := taskWords(s); it.Goal != nil && !s.task.Reached {
				sees(string(key), format.WrapBy(task, 2*118+1, widget.TypeDots)[0], true)
			}
		}
	}
}
