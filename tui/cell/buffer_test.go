package cell_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// sgr is the one kind of escape sequence that a grid may write.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// sheet fails the test unless the grid's text is exactly h lines of w columns, with
// nothing in it that moves the cursor, and the same in colour as plain.
func sheet(t *testing.T, g *cell.Buffer, w, h int) {
	t.Helper()
	text, plain := g.String(), g.Plain()
	stripped := sgr.ReplaceAllString(text, "")
	if stripped != plain {
		t.Fatalf("%dx%d: without its colours the grid is %q, and plain it is %q", w, h, stripped, plain)
	}
	for _, r := range plain {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) || r == utf8.RuneError {
			t.Fatalf("%dx%d: the grid writes %q", w, h, r)
		}
	}
	if h == 0 {
		if plain != "" {
			t.Fatalf("%dx%d: a grid without rows writes %q", w, h, plain)
		}
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n != w {
			t.Fatalf("%dx%d: a line is %d columns wide: %q", w, h, n, line)
		}
		if all := sgr.FindAllString(line, -1); len(all) > 0 && all[len(all)-1] != "\x1b[m" && all[len(all)-1] != "\x1b[0m" {
			t.Fatalf("%dx%d: a colour runs on past the end of %q", w, h, line)
		}
	}
}

var words = []string{
	"", "plain", "日本語", "a日b本c語d", "🦊🦊🦊", "é", "mixed 漢 and é", "\x1b[31mred\x1b[2J", "\u202ertl", "a\u0301combined",
	"\xff\xfe broken", "tab\tand\nline", strings.Repeat("long ", 100), "👩‍👩‍👧", "\u200b\u200d", "한글", "—–…",
}

func TestAGridIsAsLargeAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var g cell.Buffer
	for w := -1; w <= 30; w++ {
		for h := -1; h <= 12; h++ {
			g.Resize(w, h)
			sheet(t, &g, max(w, 0), max(h, 0))
			for range 40 {
				scribble(&g, r, w, h)
			}
			sheet(t, &g, max(w, 0), max(h, 0))
		}
	}
}

// scribble writes something somewhere, often across an edge.
func scribble(g *cell.Buffer, r *rand.Rand, w, h int) {
	x, y := r.IntN(w+12)-5, r.IntN(h+8)-3
	st := themes.Style{Fg: themes.Hex("#102030"), Attr: themes.Attr(r.IntN(32))}
	if r.IntN(3) == 0 {
		st = themes.Style{Bg: themes.Hex("#ffffff")}
	}
	text := safetext.Clean(words[r.IntN(len(words))])
	switch r.IntN(7) {
	case 0:
		g.Text(x, y, x+r.IntN(20)-2, text, st)
	case 1:
		g.Right(x, y, x+r.IntN(20)-2, text, st)
	case 2:
		g.Fill(x, y, r.IntN(40)-3, '▒', st)
	case 3:
		g.Set(x, y, '█', st)
	case 4:
		g.Clear(cell.Rect{X: x, Y: y, W: r.IntN(9) - 1, H: r.IntN(9) - 1})
	case 5:
		g.Tint(cell.Rect{X: x, Y: y, W: r.IntN(9) - 1, H: r.IntN(9) - 1}, themes.Hex("#445566"))
	default:
		g.Text(x, y, w+50, text, st)
	}
}

func TestWideRunesAtTheEdges(t *testing.T) {
	for _, tc := range []struct {
		name string
		draw func(g *cell.Buffer)
		want string
	}{
		{"fits", func(g *cell.Buffer) { g.Text(0, 0, 6, "日本語", themes.Style{}) }, "日本語"},
		{"does not fit by one", func(g *cell.Buffer) { g.Text(1, 0, 6, "日本語", themes.Style{}) }, " 日本 "},
		{"ends early", func(g *cell.Buffer) { g.Text(0, 0, 3, "日本語", themes.Style{}) }, "日    "},
		{"begins outside", func(g *cell.Buffer) { g.Text(-2, 0, 6, "日本語", themes.Style{}) }, "本語  "},
		{"half outside", func(g *cell.Buffer) { g.Text(-1, 0, 6, "日本", themes.Style{}) }, " 本   "},
		{"its head is written over", func(g *cell.Buffer) { g.Text(0, 0, 6, "日本語", themes.Style{}); g.Set(2, 0, 'x', themes.Style{}) }, "日x 語"},
		{"its tail is written over", func(g *cell.Buffer) { g.Text(0, 0, 6, "日本語", themes.Style{}); g.Set(3, 0, 'x', themes.Style{}) }, "日 x語"},
		{"a wide one over two halves", func(g *cell.Buffer) {
			g.Text(0, 0, 6, "日本語", themes.Style{})
			g.Text(1, 0, 6, "漢", themes.Style{})
		}, " 漢 語"},
		{"its tail is cleared", func(g *cell.Buffer) {
			g.Text(0, 0, 6, "日本語", themes.Style{})
			g.Clear(cell.Rect{X: 1, W: 2, H: 1})
		}, "    語"},
		{"its head is cleared", func(g *cell.Buffer) {
			g.Text(0, 0, 6, "日本語", themes.Style{})
			g.Clear(cell.Rect{X: 2, W: 1, H: 1})
		}, "日  語"},
	} {
		var g cell.Buffer
		g.Resize(6, 1)
		tc.draw(&g)
		if got := g.Plain(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		sheet(t, &g, 6, 1)
	}
}

func TestASCII(t *testing.T) {
	var g cell.Buffer
	g.ASCII = true
	g.Resize(30, len(words)+1)
	for y, w := range words {
		g.Text(0, y, 30, safetext.Clean(w), themes.Style{})
	}
	g.Text(0, len(words), 30, "a · b – c… 日 → 5µs ×2 █", themes.Style{})
	sheet(t, &g, 30, len(words)+1)
	for _, r := range g.Plain() {
		if r > '~' {
			t.Errorf("%q is not ASCII", r)
		}
	}
	lines := strings.Split(g.Plain(), "\n")
	if got := strings.TrimRight(lines[len(words)], " "); got != "a - b - c~ ?? > 5us x2 ?" {
		t.Errorf("it writes %q", got)
	}
}

func TestTextReturnsTheColumnAfterIt(t *testing.T) {
	var g cell.Buffer
	g.Resize(10, 1)
	for _, tc := range []struct {
		x, end int
		text   string
		want   int
	}{{0, 10, "abc", 3}, {8, 10, "abc", 10}, {0, 2, "abc", 2}, {0, 10, "日本", 4}, {0, 3, "日本", 2}, {12, 10, "abc", 12}, {3, 10, "", 3}, {-2, 10, "abc", 1}} {
		if got := g.Text(tc.x, 0, tc.end, tc.text, themes.Style{}); got != tc.want {
			t.Errorf("%q from %d to %d ends before %d, want %d", tc.text, tc.x, tc.end, got, tc.want)
		}
	}
}

func TestStylesAreWrittenOncePerRun(t *testing.T) {
	var g cell.Buffer
	g.Resize(8, 2)
	red := themes.Style{Fg: themes.Hex("#ff0000"), Attr: themes.Bold}
	g.Text(0, 0, 8, "redred", red)
	g.Text(0, 1, 8, "x", themes.Style{Fg: themes.Hex("#010203"), Bg: themes.Hex("#040506"), Attr: themes.Faint | themes.Italic | themes.Underline | themes.Reverse})
	want := "\x1b[0;1;38;2;255;0;0mredred\x1b[0m  \n\x1b[0;2;3;4;7;38;2;1;2;3;48;2;4;5;6mx\x1b[0m       "
	if got := g.String(); got != want {
		t.Errorf("the grid writes %q, want %q", got, want)
	}
	if got := g.String(); got != want {
		t.Errorf("the second time it writes %q", got)
	}
}

func TestTintLeavesWhatIsWritten(t *testing.T) {
	var g cell.Buffer
	g.Resize(4, 2)
	st := themes.Style{Fg: themes.Hex("#aabbcc")}
	g.Text(0, 0, 4, "abcd", st)
	bg := themes.Hex("#112233")
	g.Tint(cell.Rect{X: 1, Y: 0, W: 2, H: 9}, bg)
	for x, want := range []themes.Ink{0, bg, bg, 0} {
		if c := g.At(x, 0); c.S.Bg != want || c.S.Fg != st.Fg || c.R != rune("abcd"[x]) {
			t.Errorf("column %d is %+v", x, c)
		}
	}
	if c := g.At(99, -3); c != (cell.Cell{R: ' '}) {
		t.Errorf("outside the grid there is %+v", c)
	}
}

func TestRects(t *testing.T) {
	r := cell.Rect{X: 2, Y: 3, W: 10, H: 5}
	for n := -2; n < 14; n++ {
		top, rest := r.Top(n)
		if top.H+rest.H != r.H || top.H < 0 || rest.H < 0 || rest.Y != top.Y+top.H || top.W != r.W || rest.W != r.W {
			t.Errorf("the top %d rows: %+v and %+v", n, top, rest)
		}
		left, rest := r.Left(n)
		if left.W+rest.W != r.W || left.W < 0 || rest.W < 0 || rest.X != left.X+left.W || left.H != r.H || rest.H != r.H {
			t.Errorf("the left %d columns: %+v and %+v", n, left, rest)
		}
		if in := r.Inset(n); in.W < 0 || in.H < 0 {
			t.Errorf("inset by %d: %+v", n, in)
		}
	}
	for _, tc := range []struct {
		x, y int
		want bool
	}{{2, 3, true}, {11, 7, true}, {12, 7, false}, {11, 8, false}, {1, 3, false}, {2, 2, false}} {
		if got := r.Holds(tc.x, tc.y); got != tc.want {
			t.Errorf("%+v holds %d, %d: %v", r, tc.x, tc.y, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, w := range words {
		f.Add(w, 3, 9)
	}
	f.Fuzz(func(t *testing.T, s string, x, end int) {
		var g cell.Buffer
		g.Resize(12, 2)
		g.Text(x%40, 0, end%40, safetext.Clean(s), themes.Style{Attr: themes.Bold})
		g.Right(x%40, 1, end%40, safetext.Clean(s), themes.Style{})
		sheet(t, &g, 12, 2)
	})
}

func BenchmarkString(b *testing.B) {
	var g cell.Buffer
	g.Resize(160, 48)
	st := [...]themes.Style{{Fg: themes.Hex("#ff0000")}, {Fg: themes.Hex("#00ff00"), Bg: themes.Hex("#000010")}}
	for y := range g.H {
		for x := range g.W {
			g.Set(x, y, '▄', st[x/8%2]) // a change of style every eight columns
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if g.String() == "" {
			b.Fatal("nothing was written")
		}
	}
}
