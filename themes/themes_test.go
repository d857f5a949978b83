package themes_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"ratescope/themes"
)

// linear undoes the gamma of sRGB.
func linear(v uint8) float64 {
	c := float64(v) / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// every finds all themes.
func every(t *testing.T, check func(t *testing.T, th *themes.Theme)) {
	t.Helper()
	for _, name := range themes.BuiltIn().Names() {
		t.Run(name, func(t *testing.T) {
			th, err := themes.BuiltIn().Find(name)
			if err != nil {
				t.Fatal(err)
			}
			check(t, th)
		})
	}
}

func TestWhatIsReadCanBeRead(t *testing.T) {
	every(t, func(t *testing.T, th *themes.Theme) {
		grounds := map[string]themes.Ink{"the terminal": th.Ground, "the window": th.Window, "a selected row": th.Selected, "a dialog": th.Raised}
		for name, least := range map[string]float64{"Text": 4.5, "Title": 4.5, "Dim": 4.5, "Denied": 4.5, "Near": 4.5, "Admitted": 4.5, "Good": 4.5, "Accent": 4.5, "Injected": 4.5} {
			st := reflect.ValueOf(th).Elem().FieldByName(name).Interface().(themes.Style)
			if got := themes.Contrast(st.Fg, th.Ground); got < least {
				t.Errorf("%s has a contrast of %.2f on the terminal, want %.1f", name, got, least)
			}
			for where, bg := range grounds { // 3 is what WCAG asks of large and of incidental text
				if got := themes.Contrast(st.Fg, bg); got < 3 {
					t.Errorf("%s has a contrast of %.2f on %s, want 3", name, got, where)
				}
			}
		}
		for name, st := range map[string]themes.Style{"Unknown": th.Unknown, "Previous": th.Previous, "Current": th.Current} {
			if got := themes.Contrast(st.Fg, th.Ground); got < 3 {
				t.Errorf("%s has a contrast of %.2f on the terminal, want 3", name, got)
			}
		}
		for name, st := range map[string]themes.Style{"BadgeLive": th.BadgeLive, "BadgeWarn": th.BadgeWarn, "BadgeBad": th.BadgeBad, "BadgeArmed": th.BadgeArmed, "Button": th.Button, "ButtonKey": th.ButtonKey} {
			if got := themes.Contrast(st.Fg, st.Bg); got < 4.5 {
				t.Errorf("%s has a contrast of %.2f with itself, want 4.5", name, got)
			}
		}
		for name, ink := range map[string]themes.Ink{"Fine": th.Fine, "Coming": th.Coming, "ComingDenied": th.ComingDenied} {
			for where, bg := range map[string]themes.Ink{"the terminal": th.Ground, "a selected row": th.Selected, "a denied row": th.DeniedGround} {
				if got := themes.Contrast(ink, bg); got < 3 {
					t.Errorf("%s has a contrast of %.2f on %s, want 3", name, got, where)
				}
			}
		}
		for _, ink := range []themes.Ink{th.Admitted.Fg, th.Previous.Fg, th.Current.Fg, th.Unknown.Fg} {
			if got := min(themes.Contrast(th.Beside(ink), th.DeniedWash), themes.Contrast(th.DeniedWash, th.Ground)); got < 3 {
				t.Errorf("%06x in a cell that denied requests share has a contrast of %.2f, want 3", uint32(ink)&0xffffff, got)
			}
		}
		for name, st := range map[string]themes.Style{"Text": th.Text, "Title": th.Title, "Dim": th.Dim, "Denied": th.Denied, "Near": th.Near} {
			if got := themes.Contrast(st.Fg, th.DeniedGround); got < 4.5 {
				t.Errorf("%s has a contrast of %.2f on a denied row, want 4.5", name, got)
			}
		}
		if got := apart(t, th.Selected, th.DeniedGround); got < 8 && th.Name != "monochrome" { // signs tell them apart there
			t.Errorf("a selected row and a denied one are %.1f apart, want 8", got)
		}
		for u := 0.0; u <= 1; u += 0.01 {
			if got := themes.Contrast(th.Fill(u).Fg, th.Ground); got < 3 {
				t.Errorf("a bar that is %.0f %% full has a contrast of %.2f, want 3", 100*u, got)
			}
			if got := themes.Contrast(th.Glow(u).Fg, th.Ground); got < 3 {
				t.Errorf("a graph has a contrast of %.2f at %.0f %% of its height, want 3", got, 100*u)
			}
		}
	})
}

// apart is the distance of two colours as CIE76 has it, in CIELAB under D65: 2.3 is just
// noticeable.
func apart(t *testing.T, a, b themes.Ink) float64 {
	t.Helper()
	x, y := lab(t, a), lab(t, b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(t *testing.T, k themes.Ink) [3]float64 {
	t.Helper()
	r8, g8, b8, set := k.RGB()
	if !set {
		t.Fatal("a colour without a value has no place")
	}
	r, g, b := linear(r8), linear(g8), linear(b8)
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124564*r + 0.3575761*g + 0.1804375*b) / 0.95047)
	y := f(0.2126729*r + 0.7151522*g + 0.0721750*b)
	z := f((0.0193339*r + 0.1191920*g + 0.9503041*b) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func TestOutcomesLookDifferent(t *testing.T) {
	every(t, func(t *testing.T, th *themes.Theme) {
		least := 20.0
		if th.Name == "monochrome" {
			least = 5 // shapes tell them apart there
		}
		styles := map[string]themes.Style{"admitted": th.Admitted, "denied": th.Denied, "near": th.Near, "injected": th.Injected}
		for a, x := range styles {
			for b, y := range styles {
				if a < b {
					if got := apart(t, x.Fg, y.Fg); got < least {
						t.Errorf("%s and %s are %.1f apart, want %.0f", a, b, got, least)
					}
				}
			}
		}
		for name, st := range map[string]themes.Style{"denied": th.Denied, "near": th.Near} {
			if got := apart(t, th.Accent.Fg, st.Fg); got < least && th.Name != "monochrome" {
				t.Errorf("the focus and %s are %.1f apart, want %.0f", name, got, least)
			}
		}
		if got := apart(t, th.Selected, th.Ground); got < 4 {
			t.Errorf("a selected row is %.1f apart from the others, want 4", got)
		}
	})
}

// TestSixteenColoursCanBeRead in the colours that xterm gives them, on its black and on its white.
func TestSixteenColoursCanBeRead(t *testing.T) {
	xterm := [16]string{"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
		"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"}
	for _, dark := range []bool{true, false} {
		th, bg := themes.Sixteen(dark), "#ffffff"
		if dark {
			bg = "#000000"
		}
		if th.Name != "terminal" || th.Dark != dark {
			t.Errorf("its name is %s, dark %v", th.Name, th.Dark)
		}
		styles := map[string]themes.Style{"text": th.Text, "dim": th.Dim, "title": th.Title, "accent": th.Accent, "admitted": th.Admitted,
			"denied": th.Denied, "near": th.Near, "injected": th.Injected, "unknown": th.Unknown, "good": th.Good, "previous": th.Previous,
			"current": th.Current, "fine": {Fg: th.Fine}, "coming": {Fg: th.Coming}, "denied to come": {Fg: th.ComingDenied}}
		for u := 0.0; u <= 1; u += 0.05 {
			styles[fmt.Sprintf("%.2f full", u)], styles[fmt.Sprintf("%.2f high", u)] = th.Fill(u), th.Glow(u)
		}
		for name, st := range styles {
			if st.Fg == 0 && name == "title" { // as the terminal draws text by itself
				continue
			}
			n, own := st.Fg.Index()
			if !own || n == 0 && st.Attr&themes.Bold != 0 { // bold black is grey on many
				t.Fatalf("%s is no colour of the terminal's that can be read: %d", name, n)
			}
			if got := themes.Contrast(themes.Hex(xterm[n]), themes.Hex(bg)); got < 3 {
				t.Errorf("%s has a contrast of %.2f on %s, want 3", name, got, bg)
			}
		}
		if th.Near == th.Denied || th.Near == th.Admitted || th.Admitted == th.Denied || th.Accent == th.Near {
			t.Error("two outcomes, or the focus and one of them, have one colour")
		}
	}
}

func TestPalettesAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, p := range themes.BuiltIn() {
		if p.Name == "" || names[p.Name] {
			t.Errorf("the name %q is empty or taken", p.Name)
		}
		names[p.Name] = true
		v := reflect.ValueOf(p)
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.String || v.Type().Field(i).Name == "Name" {
				continue
			}
			hex := v.Field(i).String()
			if _, err := themes.ParseHex(hex); err != nil || hex == "" {
				t.Errorf("%s: %s is %q: %v", p.Name, v.Type().Field(i).Name, hex, err)
			}
		}
	}
	for _, dark := range []bool{true, false} {
		if th := themes.BuiltIn().Default(dark); th.Dark != dark {
			t.Errorf("for a terminal that is dark: %v, the default is %s", dark, th.Name)
		}
	}
	if _, err := themes.BuiltIn().Find("no such theme"); err == nil || !strings.Contains(err.Error(), "phosphor") {
		t.Errorf("a theme that does not exist is %v, want the names of those that do", err)
	}
}

func TestFillKeepsToItsEnds(t *testing.T) {
	every(t, func(t *testing.T, th *themes.Theme) {
		for _, u := range []float64{math.Inf(-1), -1, 0, 0.3, 0.59} {
			if got := th.Fill(u); got.Fg != th.Admitted.Fg {
				t.Errorf("%g full is %x, want the colour of admitted", u, got.Fg)
			}
		}
		for _, u := range []float64{1, 1.5, 1e300, math.Inf(1)} {
			if got := th.Fill(u); got.Fg != th.Denied.Fg {
				t.Errorf("%g full is %x, want the colour of denied", u, got.Fg)
			}
		}
		if got := apart(t, th.Fill(0.8).Fg, th.Near.Fg); got > 3 {
			t.Errorf("0.8 full is %.1f apart from the colour of near", got)
		}
		th.Fill(math.NaN())
	})
}

func TestParseHex(t *testing.T) {
	for in, want := range map[string][3]uint8{"#000000": {}, "#ffffff": {255, 255, 255}, "#0A1b2C": {10, 27, 44}} {
		ink, err := themes.ParseHex(in)
		r, g, b, set := ink.RGB()
		if err != nil || !set || [3]uint8{r, g, b} != want {
			t.Errorf("%s is %v, %v", in, ink, err)
		}
		if cr, cg, cb, _ := ink.Color().RGBA(); uint8(cr>>8) != r || uint8(cg>>8) != g || uint8(cb>>8) != b {
			t.Errorf("%s as a colour is %v", in, ink.Color())
		}
	}
	if ink, err := themes.ParseHex(""); err != nil || ink.Color() != nil {
		t.Errorf("no colour is %v, %v", ink, err)
	}
	for _, in := range []string{"#fff", "ffffff", "#gggggg", "#ffffff0", "red", "#-12345", "#+12345", " #ffffff"} {
		if _, err := themes.ParseHex(in); err == nil {
			t.Errorf("%q is a colour", in)
		}
	}
}

func TestThemeFiles(t *testing.T) {
	folder := fstest.MapFS{
		"mine.theme":  {Data: []byte("# my own\ndark = false\ntext = #010203\n")},
		"paper.theme": {Data: []byte("dark = false\ndenied = #ff0000\n")},
		"other.txt":   {Data: []byte("not a theme")},
	}
	shelf, err := themes.BuiltIn().Add(folder)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(shelf), len(themes.BuiltIn())+1; got != want {
		t.Errorf("%d themes are on the shelf, want %d", got, want)
	}
	mine, err := shelf.Find("mine")
	if err != nil || mine.Dark || mine.Text.Fg != themes.Hex("#010203") || mine.Near != themes.BuiltIn().Default(false).Near {
		t.Errorf("mine is %+v, %v", mine, err)
	}
	if th, err := shelf.Find("paper"); err != nil || th.Denied.Fg != themes.Hex("#ff0000") {
		t.Errorf("a file does not take the place of the theme of its name: %v", err)
	}
	if built := themes.BuiltIn().Default(false); built.Denied.Fg == themes.Hex("#ff0000") {
		t.Error("adding to a shelf changed the built-in one")
	}
	for name, text := range map[string]string{
		"no equals sign": "text #010203", "not a colour": "text = red", "no colour": "text =", "no such meaning": "texture = #010203", "tone": "dark = maybe", "name": "name = x",
	} {
		if _, err := themes.Parse("bad", text); err == nil || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if shelf, err := themes.BuiltIn().Add(fstest.MapFS{}); err != nil || len(shelf) != len(themes.BuiltIn()) {
		t.Errorf("an empty folder gives %d themes, %v", len(shelf), err)
	}
}

// FuzzParse reads a theme from a stranger: every colour of it is one.
func FuzzParse(f *testing.F) {
	f.Add("accent = #ff8800\ndark = false\n# a comment")
	f.Add("name = x")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := themes.Parse("fuzz", text)
		if err != nil {
			return
		}
		fields := reflect.ValueOf(p)
		for i := range fields.NumField() {
			field := fields.Type().Field(i)
			if field.Type.Kind() != reflect.String || field.Name == "Name" {
				continue
			}
			if _, err := themes.ParseHex(fields.Field(i).String()); err != nil {
				t.Errorf("%q: %s is %q", text, field.Name, fields.Field(i))
			}
		}
	})
}
