package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"ratescope/model"
)

// TestPackedBins: what a timeline packs, it gives back, whatever it is.
func TestPackedBins(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for range 300 {
		bins := make([]model.Bin, 1+r.IntN(60))
		large := int64(1) << r.IntN(62)
		for i := range bins {
			b := &bins[i]
			if r.IntN(3) > 0 {
				b.Admitted = r.Int64N(large)
			}
			if r.IntN(3) == 0 {
				b.Denied, b.InjectedAdmitted, b.InjectedDenied = r.Int64N(large)-large/2, r.Int32()-1<<30, int32(r.IntN(3))
			}
			if b.UsedKnown = r.IntN(4) > 0; b.UsedKnown {
				b.Used = large/2 + r.Int64N(large)
			}
			b.Watched = r.IntN(4) > 0
		}
		if got := model.PackAndUnpack(bins); !slices.Equal(got, bins) {
			t.Fatalf("%+v, want %+v", got, bins)
		}
	}
	if n := len(model.Packed(make([]model.Bin, 60))); n != 0 {
		t.Errorf("empty bins take %d bytes", n)
	}
}

// TestFrozenTwiceAtOnce: several goroutines may freeze a board that is frozen, and look at it, while
// the board goes on that it was.
func TestFrozenTwiceAtOnce(t *testing.T) {
	board, at := &model.Board{}, today
	step := func() {
		var readings []model.Reading
		for n := range 20 {
			readings = append(readings, logReading(fmt.Sprint("rl:", n), at, at-200_000, int64(n%3), 9))
		}
		board.Apply(live(at, readings...))
		at += 200_000
	}
	for range 400 {
		step()
	}
	frozen := board.Freeze(board.At)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 20 {
				for _, k := range frozen.Freeze(frozen.At).Keys() {
					k.Timeline.Between(frozen.At.Add(-time.Minute), frozen.At)
				}
			}
		})
	}
	for range 200 {
		step()
	}
	all.Wait()
}
