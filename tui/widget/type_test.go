package widget

import (
	"strings"
	"testing"
)

func TestGlyphsAreEvenAndTellable(t *testing.T) {
	alike := map[string]bool{"'’": true, "’'": true}
	for r, glyph := range glyphs() {
		for _, row := range glyph {
			if len(row) != len(glyph[0]) {
				t.Errorf("%c has rows of %d and of %d dots", r, len(glyph[0]), len(row))
			}
		}
		for other, rows := range glyphs() {
			if other != r && rows == glyph && !alike[string(r)+string(other)] {
				t.Errorf("%c and %c look the same", r, other)
			}
		}
	}
}

func TestLargeTypeIsSetInHalvesOrQuarters(t *testing.T) {
	if got := Enlarge("H1", false); got != [TypeRows]string{"▄ ▄  ▄  ", "█▄█ ▀█  ", "█ █ ▄█▄ "} {
		t.Errorf("in halves it is\n%s", strings.Join(got[:], "\n"))
	}
	if got := Enlarge("H1", true); got != [TypeRows]string{"▖▖▗ ", "▙▌▜ ", "▌▌▟▖"} {
		t.Errorf("in quarters it is\n%s", strings.Join(got[:], "\n"))
	}
}
