package model_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/crowd"
)

// BenchmarkMemory is what a board holds of a key after 12 windows of 1 minute in which all keys
// had a request every two seconds, and of one that had none but the first.
//
//	go test -run - -bench Memory -benchtime 1x ./model
func BenchmarkMemory(b *testing.B) {
	const keys = 500
	for _, c := range []struct {
		name string
		rate float64
	}{{"busy", keys / 2}, {"calm", keys / 60}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				board, source := &model.Board{}, crowd.New(keys, c.rate, true)
				for board.At.Sub(crowd.Begin) < 13*time.Minute {
					board.Apply(source.Next())
				}
				with := heap()
				if board.Len() != keys {
					b.Fatal(board.Len())
				}
				board = nil
				b.ReportMetric(float64(with-heap())/keys, "B/key")
				runtime.KeepAlive(source)
			}
		})
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

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
	board, source := &model.Board{}, crowd.New(20, 40, true)
	for range 400 {
		board.Apply(source.Next())
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
		board.Apply(source.Next())
	}
	all.Wait()
}
