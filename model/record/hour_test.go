package record_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// recorded is the recording of so long a time of a crowd.
func recorded(t testing.TB, c *crowd, long time.Duration) (file []byte, readings int) {
	t.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, true, record.Header{By: "test", At: crowdBegin})
	if err != nil {
		t.Fatal(err)
	}
	for b := (model.Batch{}); b.At.Sub(crowdBegin) < long; {
		b = c.next()
		readings += len(b.Readings)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), readings
}

// BenchmarkHour is the size of an hour of 1,000 keys and 500 requests a second, and what it takes
// to write it, to find the way through it, and to read what leads to a moment in it:
//
//	go test -run - -bench Hour -benchtime 1x ./model/record
func BenchmarkHour(b *testing.B) {
	for b.Loop() {
		begun := time.Now()
		file, readings := recorded(b, newCrowd(1000, 500, false), time.Hour)
		b.ReportMetric(float64(len(file))/1e6, "MB")
		b.ReportMetric(float64(readings)/1e6, "Mreadings")
		b.ReportMetric(time.Since(begun).Seconds(), "s-write")
		begun = time.Now()
		f, err := record.Open(context.Background(), bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-open")
		var longest time.Duration
		for i := range 20 {
			to := f.Begin.Add(time.Duration(float64(i)/20*float64(time.Hour)) + 29*time.Second)
			begun = time.Now()
			board := seek(b, f, to, false)
			if board.Len() != 1000 {
				b.Fatalf("%d keys", board.Len())
			}
			longest = max(longest, time.Since(begun))
		}
		b.ReportMetric(longest.Seconds()*1000, "ms-longest-seek")
	}
}

// TestBoardAt is where everything stood, as batch by batch leads to it, and what comes after it
// goes on from there.
func TestBoardAt(t *testing.T) {
	c := newCrowd(60, 100, false)
	var all []model.Batch
	var out bytes.Buffer
	w, err := record.NewWriter(&out, true, record.Header{By: "test", At: crowdBegin})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		b := c.next()
		if i == 400 {
			b.Gone, b.Readings = []string{"rl:user:00003"}, nil
		}
		if i%100 == 7 {
			b.Fired = []model.Fired{{Key: "rl:user:00001", At: b.At, Cost: 1}}
		}
		all = append(all, b)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(context.Background(), bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var board model.Board
	next := 0
	for _, i := range []int{0, 1, 30, 149, 150, 151, 299, 401, 402, 598, 599} {
		for ; next <= i; next++ {
			board.Apply(all[next])
		}
		to := all[i].At
		r, err := f.FromState(f.FrameBefore(to))
		if err != nil {
			t.Fatal(err)
		}
		other, err := r.BoardAt(to, to)
		if err != nil {
			t.Fatal(err)
		}
		for name, k := range board.Keys() {
			o := other.Key(name)
			switch {
			case k.Gone && o == nil:
				continue
			case o == nil:
				t.Fatalf("batch %d: there is no %s", i, name)
			}
			was, is := k.Reading, o.Reading
			was.Since, is.Since = 0, 0
			if !reflect.DeepEqual(was, is) {
				t.Errorf("batch %d: %s is\n%+v, want\n%+v", i, name, is, was)
			}
			if o.Gauge.Used != k.Gauge.Used || o.Gauge.Next != k.Gauge.Next {
				t.Errorf("batch %d: %s has %+v, want %+v", i, name, o.Gauge, k.Gauge)
			}
			from := max(to.Add(-time.Second), all[0].At)
			if got, want := arrivals(o, from, to), arrivals(k, from, to); i%150 > 10 && i%150 < 149 && got != want {
				t.Errorf("batch %d: at %s came %d, want %d", i, name, got, want)
			}
		}
		if other.At != to || other.Server.Target != all[i].Server.Target || (i > 10) != (other.Health.At != 0 && other.HotKeys.At != 0) {
			t.Errorf("batch %d: %+v", i, other.Server)
		}
		for j := i + 1; j < min(i+4, len(all)); j++ {
			after, err := r.Next()
			if err != nil || after.At != all[j].At || len(after.Readings) != len(all[j].Readings) {
				t.Fatalf("after batch %d comes %v %v", i, after.At, err)
			}
			if n := len(after.Readings); n > 0 && !reflect.DeepEqual(after.Readings[n-1], all[j].Readings[n-1]) {
				t.Errorf("batch %d has\n%+v, want\n%+v", j, after.Readings[n-1], all[j].Readings[n-1])
			}
		}
	}
}

// BenchmarkSeek is how long it takes to read where a thousand keys stood half a minute after the
// beginning of a frame, which is the worst place, and to make a board of it.
func BenchmarkSeek(b *testing.B) {
	file, _ := recorded(b, newCrowd(1000, 500, false), 3*time.Minute)
	f, err := record.Open(context.Background(), bytes.NewReader(file))
	if err != nil {
		b.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		b.Run(map[bool]string{false: "state", true: "batches"}[whole], func(b *testing.B) {
			for b.Loop() {
				if board := seek(b, f, f.Begin.Add(89*time.Second), whole); board.Len() != 1000 {
					b.Fatal(board.Len())
				}
			}
		})
	}
}

// seek returns the board of a moment, read at once or batch by batch.
func seek(t testing.TB, f *record.File, to limiter.Instant, whole bool) *model.Board {
	t.Helper()
	r, err := f.FromState(f.FrameBefore(to))
	if err != nil {
		t.Fatal(err)
	}
	if !whole {
		board, err := r.BoardAt(to, to)
		if err != nil {
			t.Fatal(err)
		}
		return board
	}
	var board model.Board
	for {
		batch, err := r.Next()
		if err != nil || r.Moment() > to {
			return &board
		}
		board.Apply(batch)
	}
}
