package replay_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model/crowd"
	"ratescope/model/record"
	"ratescope/model/report"
)

// crowded is the recording of so long a time of a crowd.
func crowded(t testing.TB, c *crowd.Crowd, long time.Duration) *record.File {
	t.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, true, record.Header{By: "test", At: crowd.Begin})
	if err != nil {
		t.Fatal(err)
	}
	for at := limiter.Instant(0); at.Sub(crowd.Begin) < long; {
		b := c.Next()
		at = b.At
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
	return f
}

// TestEveryMomentHasEveryKey, also one just after a frame began, when few were read since.
func TestEveryMomentHasEveryKey(t *testing.T) {
	f := crowded(t, crowd.New(40, 20, false), 70*time.Second)
	for at := f.Begin + 1e6; at < f.End; at += 500_000 {
		rows, _, err := replay.Moment(f, at, "", report.Options{})
		if err != nil || len(rows) != 40 {
			t.Fatalf("at %v there are %d keys: %v", at.Sub(f.Begin), len(rows), err)
		}
	}
}

// BenchmarkSeek is how long a person waits who goes anywhere in ten minutes of 1,000 keys with 500
// requests a second: until the board of that moment is there, and until what came before is too.
//
//	go test -run - -bench Seek -benchtime 20x ./feed/replay
func BenchmarkSeek(b *testing.B) {
	f := crowded(b, crowd.New(1000, 500, false), 10*time.Minute)
	p, err := replay.New(f, 1, false)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Take(b.Context()); err != nil {
		b.Fatal(err)
	}
	p.Pause()
	r := rand.New(rand.NewPCG(1, 2))
	var took []time.Duration
	var whole time.Duration
	for b.Loop() {
		p.Seek(f.Begin + limiter.Instant(r.Int64N(int64(f.End-f.Begin))))
		begun := time.Now()
		if batch, err := p.Take(b.Context()); err != nil || batch.Anew.Len() != 1000 {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
		b.StopTimer()
		for p.Playback(time.Now()).Past {
			if _, err := p.Take(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		whole += time.Since(begun)
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms-median")
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "ms-longest")
	b.ReportMetric(whole.Seconds()/float64(b.N)*1000, "ms-whole")
}
