package chart_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"ratescope/model"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

// quarters are the cells with parts filled: 1 upper left, 2 upper right, 4 lower left, 8
// lower right.
const quarters = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"

func filled(t *testing.T, r rune) (left, right int) {
	t.Helper()
	n := len([]rune(quarters[:max(strings.IndexRune(quarters, r), 0)]))
	if r != ' ' && n == 0 {
		t.Fatalf("%q is not made of quarters", r)
	}
	return n & 5, n & 10 >> 1
}

// TestShiftedColumnsStandHalfACellToTheLeft draws the same columns in both phases: what
// stood in a cell stands in its left half and in the right half of the one before.
func TestShiftedColumnsStandHalfACellToTheLeft(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const w, h = 20, 6
	some := make([]model.Bin, w+1)
	for i := range some {
		some[i] = model.Bin{Admitted: int64(r.IntN(9)), Watched: true}
	}
	room := cell.Rect{W: w, H: h}
	draw := func(bins []model.Bin, shifted bool) *cell.Buffer {
		g := &cell.Buffer{}
		g.Resize(w, h)
		c := chart.Columns{Bins: bins, Max: 8, Fine: true, Shifted: shifted}
		c.Draw(g, room, looks[0])
		return g
	}
	whole, shifted := draw(some[1:], false), draw(some, true)
	for y := range h {
		for x := 1; x < w; x++ {
			before, _ := filled(t, whole.At(x-1, y).R)
			here, _ := filled(t, whole.At(x, y).R)
			left, right := filled(t, shifted.At(x, y).R)
			if left != before || right != here {
				t.Fatalf("cell %d,%d shows %q, and before the half step there stood %q after %q", x, y, shifted.At(x, y).R, whole.At(x, y).R, whole.At(x-1, y).R)
			}
		}
	}
}

// TestDeniedKeepsItsShape looks at a column of denied requests beside one of admitted
// ones, in both orders and phases: neither is drawn in the shape of the other.
func TestDeniedKeepsItsShape(t *testing.T) {
	yes, no := model.Bin{Admitted: 4, Watched: true}, model.Bin{Denied: 4, Watched: true}
	for _, bins := range [][]model.Bin{{yes, no, yes}, {no, yes, no}, {{}, no, {}}, {no, no, no}} {
		for _, shifted := range []bool{false, true} {
			g := &cell.Buffer{}
			g.Resize(2, 4)
			c := chart.Columns{Bins: bins[1:], Max: 4, Fine: true, Shifted: shifted}
			if shifted {
				c.Bins = bins
			}
			c.Draw(g, g.Bounds(), looks[0])
			denied := 0
			for x := range 2 {
				at := g.At(x, 3)
				if at.S.Fg == looks[0].Denied.Fg || at.S.Bg == looks[0].DeniedWash {
					denied++
				}
				if at.R == '█' && at.S.Fg != looks[0].Admitted.Fg {
					t.Errorf("shifted %v: a full cell in another colour than admitted's", shifted)
				}
			}
			if denied == 0 {
				t.Errorf("shifted %v: %v shows nothing denied:\n%s", shifted, bins, g.Plain())
			}
		}
	}
}
