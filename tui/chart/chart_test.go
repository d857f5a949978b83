package chart_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

var looks = []chart.Look{
	{Glyphs: chart.Unicode, Theme: themes.BuiltIn().Default(true)},
	{Glyphs: chart.Ascii, Theme: themes.BuiltIn().Default(false)},
}

// frame is what must stay untouched around a chart.
const frame = '@'

// sheet returns a grid with a frame around the rectangle in which a chart may draw.
func sheet(w, h int) (*cell.Buffer, cell.Rect) {
	var g cell.Buffer
	g.Resize(w+4, h+2)
	r := cell.Rect{X: 2, Y: 1, W: w, H: h}
	for y := range g.H {
		g.Fill(0, y, g.W, frame, themes.Style{})
	}
	g.Clear(r)
	return &g, r
}

// check fails the test where a chart drew outside its rectangle or something that is
// not one cell wide.
func check(t *testing.T, what string, g *cell.Buffer, r cell.Rect) {
	t.Helper()
	for y := range g.H {
		for x := range g.W {
			c := g.At(x, y)
			if !r.Holds(x, y) && c.R != frame {
				t.Fatalf("%s %dx%d drew %q outside its room, at %d,%d:\n%s", what, r.W, r.H, c.R, x-r.X, y-r.Y, g.Plain())
			}
		}
	}
	lines := strings.Split(g.String(), "\n")
	if len(lines) != g.H {
		t.Fatalf("%s: %d lines, want %d", what, len(lines), g.H)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n != g.W {
			t.Fatalf("%s: a line is %d wide, want %d: %q", what, n, g.W, line)
		}
		if strings.Count(line, "\x1b") != strings.Count(line, "\x1b[") {
			t.Fatalf("%s: an escape that is no colour in %q", what, line)
		}
	}
}

var oddFloats = []float64{0, -1, 1, 0.5, 1e-300, 1e300, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 99.999, 3}

var oddCounts = []int64{0, 1, 2, 3, 7, 100, 12345, math.MaxInt64, math.MaxInt64 / 2, -1, math.MinInt64, 1 << 40}

func float(r *rand.Rand) float64 { return oddFloats[r.IntN(len(oddFloats))] }
func count(r *rand.Rand) int64   { return oddCounts[r.IntN(len(oddCounts))] }

func bins(r *rand.Rand, n int) []model.Bin {
	out := make([]model.Bin, n)
	for i := range out {
		if r.IntN(3) > 0 {
			out[i] = model.Bin{Admitted: count(r), Denied: count(r), InjectedAdmitted: int32(count(r)), Used: count(r), UsedKnown: r.IntN(2) == 0, Watched: r.IntN(3) > 0}
		}
	}
	return out
}

func TestChartsStayInTheirRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for w := 0; w <= 30; w++ {
		for h := 0; h <= 12; h++ {
			for range 6 {
				look := looks[r.IntN(len(looks))]
				some := bins(r, r.IntN(40))
				g, room := sheet(w, h)
				c := chart.Columns{Bins: some, Max: count(r), First: r.IntN(60) - 10}
				if r.IntN(2) == 0 {
					c.Ground = func(i int) (rune, bool) { return '┊', i%5 == 0 }
				}
				c.Fine = look.Glyphs == chart.Unicode && r.IntN(2) == 0
				c.Shifted = c.Fine && r.IntN(2) == 0
				c.Draw(g, room, look)
				check(t, "columns", g, room)

				g, room = sheet(w, h)
				past := make([]float64, r.IntN(80))
				for i := range past {
					past[i] = float(r)
				}
				g.ASCII = look.Glyphs == chart.Ascii
				chart.Area{Values: past, Top: float(r), Ink: look.Glow}.Draw(g, room, look)
				check(t, "area", g, room)

				g, room = sheet(w, h)
				l := chart.Lane{Bins: some, Limit: count(r), Max: count(r), First: r.IntN(60) - 10, Fine: look.Glyphs == chart.Unicode && r.IntN(2) == 0}
				if row := l.Draw(g, room, look); row != -1 && !room.Holds(room.X, row) && w > 0 {
					t.Fatalf("lane %dx%d: the limit line is in row %d", w, h, row)
				}
				check(t, "lane", g, room)
			}
		}
		for range 40 {
			look := looks[r.IntN(len(looks))]
			g, room := sheet(w, 1)
			var segments []chart.Segment
			for range r.IntN(5) {
				s := chart.Segment{Value: float(r), Style: look.Admitted}
				if r.IntN(2) == 0 {
					s.Glyph = look.Gone
				}
				segments = append(segments, s)
			}
			chart.Bar(g, room.X, room.Y, w, float(r), look.Glyphs, segments...)
			check(t, "bar", g, room)
		}
	}
}

// TestStack holds that admitted and denied together never exceed the height and that
// neither hides the other where there is room for both.
func TestStack(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	values := append([]int64{4, 5, 9, 10, 50, 99, 1000}, oddCounts...)
	for height := 0; height <= 12; height++ {
		for _, steps := range []int{1, 2, 3, 8} {
			for range 4000 {
				a, d := values[r.IntN(len(values))], values[r.IntN(len(values))]
				most := values[r.IntN(len(values))]
				if r.IntN(2) == 0 && a > 0 && d > 0 && a < 1<<50 && d < 1<<50 {
					most = a + d
				}
				fine, cells := chart.Stack(a, d, most, height, steps)
				rows := (fine + steps - 1) / steps
				what := fmt.Sprintf("%d admitted and %d denied of %d in %d rows of %d steps: %d steps, %d cells", a, d, most, height, steps, fine, cells)
				switch {
				case fine < 0 || cells < 0 || rows+cells > height:
					t.Fatalf("%s: they exceed the height", what)
				case a <= 0 && fine > 0 || d <= 0 && cells > 0:
					t.Fatalf("%s: something shows that is not there", what)
				case height == 0 || most <= 0:
				case a > 0 && fine == 0 && (height > 1 || d <= 0):
					t.Fatalf("%s: the admitted are hidden", what)
				case d > 0 && cells == 0:
					t.Fatalf("%s: the denied are hidden", what)
				}
			}
		}
	}
}

func TestStackIsToScale(t *testing.T) {
	for _, tc := range []struct{ admitted, denied, most, fine, cells int64 }{
		{0, 0, 10, 0, 0}, {10, 0, 10, 80, 0}, {5, 0, 10, 40, 0}, {5, 5, 10, 40, 5}, {0, 10, 10, 0, 10}, {1, 0, 1000, 1, 0}, {0, 1, 1000, 0, 1}, {1, 999, 1000, 1, 9}, {999, 1, 1000, 72, 1},
	} {
		fine, cells := chart.Stack(tc.admitted, tc.denied, tc.most, 10, 8)
		if int64(fine) != tc.fine || int64(cells) != tc.cells {
			t.Errorf("%d and %d of %d in ten rows: %d eighths and %d cells, want %d and %d", tc.admitted, tc.denied, tc.most, fine, cells, tc.fine, tc.cells)
		}
	}
}

func TestBarsFillToScale(t *testing.T) {
	look := looks[0]
	for _, tc := range []struct {
		name     string
		w        int
		full     float64
		segments []chart.Segment
		want     string
	}{
		{"nothing", 4, 10, nil, "    "},
		{"half", 4, 10, []chart.Segment{{Value: 5}}, "██  "},
		{"an eighth of a cell", 4, 32, []chart.Segment{{Value: 1}}, "▏   "},
		{"little is more than nothing", 4, 1e9, []chart.Segment{{Value: 1}}, "▏   "},
		{"more than full", 4, 10, []chart.Segment{{Value: 50}}, "████"},
		{"endless", 4, 10, []chart.Segment{{Value: math.Inf(1)}}, "████"},
		{"what fades", 4, 8, []chart.Segment{{Value: 4}, {Value: 4, Glyph: '░'}}, "██░░"},
		{"no number", 4, 10, []chart.Segment{{Value: math.NaN()}, {Value: 5}}, "██  "},
		{"of no number", 4, math.NaN(), []chart.Segment{{Value: 5}}, "    "},
		{"two in one cell", 4, 4, []chart.Segment{{Value: 1.5}, {Value: 1.5}}, "█▌█ "},
	} {
		g, r := sheet(tc.w, 1)
		chart.Bar(g, r.X, r.Y, tc.w, tc.full, look.Glyphs, tc.segments...)
		if got := row(g, r, 0); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func row(g *cell.Buffer, r cell.Rect, y int) string {
	var b strings.Builder
	for x := range r.W {
		b.WriteRune(g.At(r.X+x, r.Y+y).R)
	}
	return b.String()
}

func TestGapsAndBeginningsLookDifferent(t *testing.T) {
	look := looks[0]
	g, r := sheet(6, 3)
	some := make([]model.Bin, 6)
	some[3].Watched = true
	some[4] = model.Bin{Watched: true, Admitted: 4}
	some[5] = model.Bin{Watched: true, Denied: 4}
	c := chart.Columns{Bins: some, Max: 4, First: 2}
	c.Draw(g, r, look)
	want := []string{"  ╱ █⣿", "  ╱ █⣿", "··╱ █⣿"}
	for y, line := range want {
		if got := row(g, r, y); got != line {
			t.Errorf("row %d is %q, want %q", y, got, line)
		}
	}
}

func TestLaneShowsTheLimit(t *testing.T) {
	look := looks[0]
	some := make([]model.Bin, 4)
	for i := range some {
		some[i] = model.Bin{Watched: true, UsedKnown: true, Used: int64(i) * 4}
	}
	g, r := sheet(4, 4)
	l := chart.Lane{Bins: some, Limit: 8, Max: 16}
	if got := l.Draw(g, r, look); got != r.Y+2 {
		t.Errorf("the limit of half the height is in row %d, want 2", got-r.Y)
	}
	want := []string{"    ", "   █", "╌╌██", " ███"}
	for y, line := range want {
		if got := row(g, r, y); got != line {
			t.Errorf("row %d is %q, want %q", y, got, line)
		}
	}
	if st := g.At(r.X+3, r.Y+1).S; st.Fg != look.Denied.Fg {
		t.Error("what is over the limit is not in the colour of denied")
	}
	if row := (&chart.Lane{Bins: some, Max: 16}).Draw(g, r, look); row != -1 {
		t.Errorf("without a limit its line is in row %d", row)
	}
}

func TestNice(t *testing.T) {
	last := int64(0)
	for _, v := range []int64{math.MinInt64, -5, 0, 1, 2, 7, 9, 10, 11, 16, 99, 100, 101, 151, 1 << 40, math.MaxInt64 / 100, math.MaxInt64} {
		got := chart.Nice(v)
		if got < v || got < 1 || got < last {
			t.Errorf("the scale for %d ends at %d", v, got)
		}
		if v > 1 && v < 1<<50 && got > 2*v {
			t.Errorf("the scale for %d ends at %d, more than twice as high", v, got)
		}
		last = got
	}
}

// TestEveryShapeIsOneCellAndItsOwn holds that nothing depends on colour.
func TestEveryShapeIsOneCellAndItsOwn(t *testing.T) {
	for name, gl := range map[string]*chart.Glyphs{"unicode": chart.Unicode, "ascii": chart.Ascii} {
		runes := append(append([]rune{gl.Cross, gl.Gone, gl.Gap, gl.Before, gl.Room, gl.Limit, gl.LimitV, gl.Edge, gl.MarkYes, gl.MarkNo, gl.Axis, gl.Tick,
			gl.Box.H, gl.Box.V, gl.Box.TL, gl.Box.TR, gl.Box.BL, gl.Box.BR, gl.Box.T}, gl.Rise...), gl.Reach...)
		for _, m := range []string{gl.YesMark, gl.OverMark, gl.NearMark, gl.OKMark, gl.IdleMark, gl.BadMark, gl.PinMark, gl.SelMark} {
			runes = append(runes, []rune(m)...)
			if ansi.StringWidth(m) != 1 {
				t.Errorf("%s: the mark %q is not one cell wide", name, m)
			}
		}
		for _, r := range runes {
			if ansi.StringWidth(string(r)) != 1 {
				t.Errorf("%s: %q is not one cell wide", name, r)
			}
			if name == "ascii" && (r < ' ' || r > '~') {
				t.Errorf("ascii: %q is not", r)
			}
		}
		full := gl.Rise[len(gl.Rise)-1]
		differ(t, name, "what stands in the timeline", full, gl.Cross, gl.Gap, gl.Edge, gl.Limit)
		differ(t, name, "marks of injected requests", gl.MarkYes, gl.MarkNo, gl.Axis, gl.Tick)
		differ(t, name, "pressures of keys", []rune(gl.OverMark)[0], []rune(gl.NearMark)[0], []rune(gl.OKMark)[0], []rune(gl.IdleMark)[0], []rune(gl.BadMark)[0])
	}
}

// TestASignMeansOneThing: no two meanings share a sign, in blocks and lines or in ASCII. Steps of
// a filled cell are one meaning (how much), an edge and its tick another, lines a third.
func TestASignMeansOneThing(t *testing.T) {
	for name, gl := range map[string]*chart.Glyphs{"unicode": chart.Unicode, "ascii": chart.Ascii} {
		b := gl.Box
		meanings := map[string][]rune{
			"filled": append(append(append([]rune{}, gl.Rise...), gl.Reach...), gl.Shade...),
			"edge":   {gl.Edge, gl.Tick}, "line": {gl.Axis, b.H, b.V}, "corner": {b.TL, b.TR, b.BL, b.BR, b.T},
			"selected": {[]rune(gl.SelMark)[0], gl.Chosen}, "not there": {gl.Before}, "free": {gl.Room}, "limit": {gl.Limit, gl.LimitV},
			"denied": {gl.Cross}, "gone": {gl.Gone}, "gap": {gl.Gap}, "fired, admitted": {gl.MarkYes}, "fired, denied": {gl.MarkNo}, "slot": {gl.Slot},
			"leaves": {gl.Leaves}, "ahead": {gl.Ahead}, "fits": {gl.Fits}, "too many": {gl.TooMany}, "too few": {gl.TooFew}, "excess": {gl.Excess}, "here": {gl.Here}, "folded": []rune(gl.FoldedMark), "open": []rune(gl.OpenMark),
		}
		for i, m := range []string{gl.YesMark, gl.OverMark, gl.NearMark, gl.OKMark, gl.IdleMark, gl.StaleMark, gl.BadMark, gl.PinMark} {
			meanings["mark "+string(rune('1'+i))] = []rune(m)
		}
		if name == "unicode" { // on its own row, in its own place: see where they are drawn
			delete(meanings, "not there")
			meanings["gone"], meanings["mark 5"], meanings["limit"] = nil, nil, []rune{gl.Limit}
			meanings["too many"], meanings["here"], meanings["edge"], meanings["selected"] = nil, nil, []rune{gl.Tick}, []rune{gl.Chosen}
		}
		owner := map[rune]string{}
		for meaning, runes := range meanings {
			for _, r := range runes {
				if was := owner[r]; was != "" && was != meaning {
					t.Errorf("%s: %q means %q and %q", name, r, was, meaning)
				}
				owner[r] = meaning
			}
		}
	}
}

func differ(t *testing.T, set, what string, runes ...rune) {
	t.Helper()
	seen := map[rune]bool{}
	for _, r := range runes {
		if seen[r] {
			t.Errorf("%s: %s share the shape %q", set, what, r)
		}
		seen[r] = true
	}
}

func BenchmarkColumns(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	some := make([]model.Bin, 100)
	for i := range some {
		some[i] = model.Bin{Admitted: r.Int64N(40), Denied: r.Int64N(9), Watched: true, Used: r.Int64N(100), UsedKnown: true}
	}
	g, room := sheet(100, 20)
	b.ReportAllocs()
	for b.Loop() {
		(&chart.Columns{Bins: some, Max: 50}).Draw(g, room, looks[0])
		(&chart.Lane{Bins: some, Limit: 80, Max: 100}).Draw(g, room, looks[0])
	}
}

// TestAnAreaThatHangsBeginsAbove: its fractions are filled from above, in ASCII with the shape of what is denied.
func TestAnAreaThatHangsBeginsAbove(t *testing.T) {
	for i, want := range [][2]string{{"⡇⣿", "⠁ "}, {"xx", "  "}} {
		g, r := sheet(2, 2)
		g.ASCII = i == 1
		values := [][]float64{{5, 0, 4, 4}, {4, 4}}[i]
		chart.Area{Values: values, Top: 8, Ink: looks[i].Glow, Hangs: true}.Draw(g, r, looks[i])
		for y, line := range want {
			if got := row(g, r, y); got != line {
				t.Errorf("%d, row %d is %q, want %q", i, y, got, line)
			}
		}
	}
}
