package lab_test

import (
	"context"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"ratescope/themes"
	"ratescope/tui/lab"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// TestTextOfTheLabCanBeRead looks at everything that is painted in every view in every theme: a letter or digit
// stands out from its ground by 4.5 to 1, every sign and fill by 3 to 1.
func TestTextOfTheLabCanBeRead(t *testing.T) {
	for _, name := range themes.BuiltIn().Names() {
		theme, err := themes.BuiltIn().Find(name)
		if err != nil {
			t.Fatal(err)
		}
		ground := theme.Ground
		app, err := lab.New(context.Background(), lab.Options{Look: shell.Options{Theme: name}})
		if err != nil {
			t.Fatal(err)
		}
		app.Update(tea.WindowSizeMsg{Width: 140, Height: 42})
		told := map[string]bool{}
		for _, key := range []string{"enter", "b", "l", "D", "Q", "d", "T", "M", "C", "B", "B", "L", "esc", "w", "esc", "?"} {
			app.Update(tuitest.Key(key))
			app.View()
			b := &app.Canvas.Buffer
			for y := range b.H {
				for x := range b.W {
					c := b.At(x, y)
					least := 4.5
					if !unicode.IsLetter(c.R) && !unicode.IsDigit(c.R) {
						least = 3
					}
					if c.S.Fg == 0 || c.S.Fg == c.S.Bg || strings.ContainsRune(" ·─│╭╮╰╯", c.R) { // what separates
						continue
					}
					bg := c.S.Bg
					if bg == 0 {
						bg = ground
					}
					what := string(rune(c.S.Fg)) + string(rune(bg))
					if got := themes.Contrast(c.S.Fg, bg); got < least && !told[what] {
						told[what] = true
						t.Errorf("%s after %s: %q at %d,%d has a contrast of %.2f (%06x on %06x)", name, key, c.R, x, y, got, uint32(c.S.Fg)&0xffffff, uint32(bg)&0xffffff)
					}
				}
			}
		}
	}
}
