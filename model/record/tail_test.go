package record_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui/tuitest"
)

// played is the board that the recording of a tail leads to.
func played(t *testing.T, tail *record.Tail) (*model.Board, *record.File) {
	t.Helper()
	var file bytes.Buffer
	if n, err := tail.WriteTo(&file); err != nil || n != int64(file.Len()) {
		t.Fatalf("%d of %d bytes: %v", n, file.Len(), err)
	}
	f, err := record.Open(context.Background(), bytes.NewReader(file.Bytes()))
	if err != nil || f.Damage != nil || f.LeftOut > 0 {
		t.Fatalf("it opens as %+v: %v", f, err)
	}
	r, err := record.NewReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	board := &model.Board{}
	for {
		b, err := r.Next()
		if err == io.EOF {
			return board, f
		}
		if err != nil {
			t.Fatal(err)
		}
		board.Apply(b)
	}
}

// TestTail keeps the last minutes and no more; what it writes leads to the board that was
// live, with keys that were read once, long ago, and it goes on after that.
func TestTail(t *testing.T) {
	const span = 2 * time.Minute
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed := tuitest.NewFeed(begin)
	tail := record.NewTail(record.Header{By: "test"}, span, 64<<20)
	live := &model.Board{}
	var now limiter.Instant
	for passed := time.Duration(0); passed <= 6*time.Minute; passed += tuitest.Refresh {
		b := feed.Advance(begin.Add(passed))
		now = b.At
		if passed == 10*time.Second {
			b.Readings = append(b.Readings, model.Reading{Key: "read once", Type: "string", At: b.At, Target: model.Target{Algorithm: limiter.FixedWindow, Window: time.Hour}})
		}
		live.Apply(b)
		if err := tail.Write(b); err != nil {
			t.Fatal(err)
		}
		if passed%(time.Minute) != 0 {
			continue
		}
		board, file := played(t, tail)
		if far := now.Sub(tail.Begin()); far < min(passed, span) || far > span+time.Minute {
			t.Errorf("after %v it keeps %v", passed, far)
		}
		if tail.Cut() {
			t.Errorf("after %v it says that it is cut", passed)
		}
		if file.End != now || file.Header.At != tail.Begin() || file.Header.Server.Target != b.Server.Target {
			t.Errorf("after %v it ends at %v, not %v: %+v", passed, file.End, now, file.Header)
		}
		if board.Len() != live.Len() {
			t.Errorf("after %v there are %d keys, not %d", passed, board.Len(), live.Len())
		}
		for name, k := range live.Keys() {
			other := board.Key(name)
			if other == nil || other.Gauge.Used != k.Gauge.Used || other.Reading.At != k.Reading.At {
				t.Errorf("after %v %s differs: %+v, want %+v", passed, name, other, k)
			}
			from, to := max(tail.Begin(), now.Add(-k.Timeline.Window())), now
			if got, want := arrivals(other, from, to), arrivals(k, from, to); got != want {
				t.Errorf("after %v %s has %d admitted since %v, not %d", passed, name, got, from, want)
			}
		}
	}
}

func arrivals(k *model.Watched, from, to limiter.Instant) int64 {
	n, _ := k.Timeline.Admitted(from, to)
	return n
}

// TestTailIsBounded in bytes, also where one frame alone is too much.
func TestTailIsBounded(t *testing.T) {
	const bound = 40_000
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed := tuitest.NewFeed(begin)
	tail := record.NewTail(record.Header{}, time.Hour, bound)
	for passed := time.Duration(0); passed < 4*time.Minute; passed += tuitest.Refresh {
		if err := tail.Write(feed.Advance(begin.Add(passed))); err != nil {
			t.Fatal(err)
		}
		if n := tail.Size(); n > bound+bound/2 {
			t.Fatalf("%v: %d bytes", passed, n)
		}
	}
	if board, _ := played(t, tail); board.Len() == 0 {
		t.Error("nothing is left")
	}
	if !tail.Cut() {
		t.Error("it does not say that it keeps less than it should")
	}
}

// TestTailBeginsWithTheFirstAnswer: a dashboard that connected for a while first, to a server that stood still,
// has no instant until then, and its recording does not begin in 1970.
func TestTailBeginsWithTheFirstAnswer(t *testing.T) {
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	tail := record.NewTail(record.Header{By: "test"}, time.Minute, 1<<20)
	for i := range 5 {
		connecting := model.Batch{Local: begin.Add(time.Duration(i-5) * time.Second), Server: model.Server{Link: model.Connecting, Err: "it does not answer"}}
		if err := tail.Write(connecting); err != nil {
			t.Fatal(err)
		}
	}
	feed := tuitest.NewFeed(begin)
	first := feed.Advance(begin)
	for _, b := range []model.Batch{first, feed.Advance(begin.Add(tuitest.Refresh))} {
		if err := tail.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if board, f := played(t, tail); tail.Begin() != first.At || f.Begin != first.At || f.Batches != 2 || board.Len() == 0 {
		t.Errorf("it begins at %v and is read as one of %d batches from %v, want 2 from %v", tail.Begin(), f.Batches, f.Begin, first.At)
	}
}

// TestTailOfNothing is a recording without a batch.
func TestTailOfNothing(t *testing.T) {
	var file bytes.Buffer
	if _, err := record.NewTail(record.Header{}, time.Hour, 1000).WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := record.NewReader(&file); err != nil {
		t.Error(err)
	}
}

func BenchmarkTail(b *testing.B) {
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed := tuitest.NewFeed(begin)
	tail := record.NewTail(record.Header{}, 10*time.Minute, 64<<20)
	var batches []model.Batch
	keys := 0
	for i := range 100 {
		batch := feed.Advance(begin.Add(time.Duration(i) * tuitest.Refresh))
		batches, keys = append(batches, batch), keys+len(batch.Readings)
	}
	for i := 0; b.Loop(); i++ {
		if err := tail.Write(batches[i%len(batches)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(float64(keys)/float64(len(batches))), "ns/reading")
}

// BenchmarkTailMemory is what the last ten minutes of very many busy keys take in memory, all of
// it, and how many minutes that is; each key has two requests a second.
//
//	go test -run - -bench TailMemory -benchtime 1x ./model/record
func BenchmarkTailMemory(b *testing.B) {
	for _, keys := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			for b.Loop() {
				c := newCrowd(keys, 2*float64(keys), true)
				tail := record.NewTail(record.Header{}, 10*time.Minute, 40<<20)
				now := crowdBegin
				for now.Sub(crowdBegin) < 11*time.Minute && !tail.Cut() {
					batch := c.next()
					now = batch.At
					if err := tail.Write(batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(tail.Size())/1e6, "MB-kept")
				b.ReportMetric(now.Sub(tail.Begin()).Minutes(), "minutes")
				with := heapBytes()
				runtime.KeepAlive(tail)
				tail = nil
				b.ReportMetric(float64(with-heapBytes())/1e6, "MB-heap")
				runtime.KeepAlive(c)
			}
		})
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
