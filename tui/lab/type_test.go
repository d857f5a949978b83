package lab

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ratescope/model/lab"
)

func TestGlyphsAreEvenAndTellable(t *testing.T) {
	alike := map[string]bool{"O0": true, "0O": true, "S5": true, "5S": true, "'’": true, "’'": true}
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
