package keys

import (
	"testing"

	"ratescope/tui/cell"
)

// TestTilesFillTheGrid: at every size the tiles of a page lie inside the area, none covers another, and all
// keys have a tile wherever as many fit.
func TestTilesFillTheGrid(t *testing.T) {
	for w := 0; w <= 200; w += 7 {
		for h := 0; h <= 60; h += 3 {
			for _, n := range []int{0, 1, 2, 5, 15, 40} {
				r := cell.Rect{X: 1, Y: 2, W: w, H: h}
				cols, rows, height := tiling(r, n)
				if fit := (w / tileWidth) * (h / tileHeight); n <= fit && cols*rows < n {
					t.Fatalf("%dx%d has %d by %d tiles for %d keys", w, h, cols, rows, n)
				}
				covered := map[[2]int]bool{}
				for i := range cols * rows {
					in := tileAt(r, i%cols, i/cols, cols, rows, height)
					if in.X < r.X || in.Y < r.Y || in.X+in.W > r.X+r.W || in.Y+in.H > r.Y+r.H {
						t.Fatalf("%dx%d: tile %d at %v is outside of %v", w, h, i, in, r)
					}
					for x := in.X; x < in.X+in.W; x++ {
						for y := in.Y; y < in.Y+in.H; y++ {
							if covered[[2]int{x, y}] {
								t.Fatalf("%dx%d: tile %d covers another at %d, %d", w, h, i, x, y)
							}
							covered[[2]int{x, y}] = true
						}
					}
				}
			}
		}
	}
}
