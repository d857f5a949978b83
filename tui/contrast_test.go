package tui_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"ratescope/themes"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// quiet are shapes that separate, and those that words beside them tell.
const quiet = " ·─│╭╮╰╯"

// parts are shapes that fill a part of a cell: its ground is another fill where it is no ground of the theme's.
const parts = "▐▌▉▊▋▍▎▏▁▂▃▄▅▆▇▘▝▀▖▞▛▗▚▜▙▟"

// TestTextCanBeRead looks at everything that is painted on every screen in every theme: a letter or digit
// stands out from its ground by 4.5 to 1, and every sign and fill by 3 to 1.
func TestTextCanBeRead(t *testing.T) {
	t.Parallel()
	signs := map[rune]bool{}
	for _, name := range themes.BuiltIn().Names() {
		theme, err := themes.BuiltIn().Find(name)
		if err != nil {
			t.Fatal(err)
		}
		ground := theme.Ground
		grounds := []themes.Ink{ground, theme.Selected, theme.Raised, theme.Window, theme.DeniedGround}
		if got := themes.Contrast(theme.Window, ground); got < 1.5 {
			t.Errorf("%s: the window stands out by %.2f to 1, want 1.5", name, got)
		}
		s := tuitest.NewStage(t, 140, 42, tui.Options{Look: shell.Options{Theme: name},
			Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}}, tuitest.Mixed()...)
		s.Size(0, 0) // there is no room to paint anything, which takes most of the time
		s.Run(20 * time.Second)
		s.Size(140, 42)
		s.Run(5 * time.Second)
		for _, scene := range scenes {
			if scene.name == "compare" { // the lab's own to test
				continue
			}
			s.Press(scene.to...)
			s.App.View()
			b := &s.App.Canvas.Buffer
			focused := map[string]bool{}
			for y := range b.H {
				for x := range b.W {
					c := b.At(x, y)
					bg, fg, least := c.S.Bg, c.S.Fg, 4.5
					if !unicode.IsLetter(c.R) && !unicode.IsDigit(c.R) {
						if least = 3; c.R == 0 || strings.ContainsRune(quiet, c.R) || fg == bg ||
							scene.name == "themes" { // which has samples of others
							continue
						}
						signs[c.R] = true
					}
					if bg == 0 {
						bg = ground
					}
					if fg == 0 {
						continue // the terminal's own on its own
					}
					what := string(rune(fg)) + string(rune(bg))
					got := themes.Contrast(fg, bg)
					if strings.ContainsRune(parts, c.R) && !slices.Contains(grounds, bg) {
						got = min(got, themes.Contrast(bg, ground))
						signs['▌'] = true
					}
					if next := b.At(x+1, y); scene.name == "timeline expanded" && c.R == '█' && next.R == '█' &&
						fg == theme.Previous.Fg && next.S.Fg == theme.Current.Fg {
						got = min(got, themes.Contrast(fg, next.S.Fg))
					}
					if got < least && !focused[what] {
						focused[what] = true
						t.Errorf("%s, %s: %q at %d,%d has a contrast of %.2f (%06x on %06x)", name, scene.name, c.R, x, y, got,
							uint32(fg)&0xffffff, uint32(bg)&0xffffff)
					}
				}
			}
			s.Press(scene.back...)
		}
	}
	for _, want := range "✖↓▲●▷█⣿◆▏░▌▄" {
		if !signs[want] {
			t.Errorf("no %c was painted: the frames prove nothing of it", want)
		}
	}
}

// TestSixteenColours: on such a terminal the colours are the terminal's own, by number.
func TestSixteenColours(t *testing.T) {
	for _, dark := range []bool{true, false} {
		th := themes.Sixteen(dark)
		for what, st := range map[string]themes.Style{"text": th.Text, "dim": th.Dim, "denied": th.Denied, "near": th.Near,
			"admitted": th.Admitted, "accent": th.Accent, "fill": th.Fill(0.9), "glow": th.Glow(0.5)} {
			n, own := st.Fg.Index()
			if !own {
				t.Errorf("%s is no colour of the terminal's", what)
			}
			if dark && (n == 4 || n == 1 || n == 0) {
				t.Errorf("%s is number %d, which is too dark to be read on black", what, n)
			}
		}
		if th.Selected != 0 || th.Window != 0 || th.DeniedGround != 0 {
			t.Error("a ground is drawn under text whose contrast cannot be known")
		}
	}
}
