package record_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
)

// crowded is the open recording of so long a time of a crowd.
func crowded(t testing.TB, c *crowd, long time.Duration) *record.File {
	t.Helper()
	file, _ := recorded(t, c, long)
	f, err := record.Open(context.Background(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEveryMomentHasEveryKey, also one just after a frame began, when few were read since.
func TestEveryMomentHasEveryKey(t *testing.T) {
	f := crowded(t, newCrowd(40, 20, false), 70*time.Second)
	for at := f.Begin + 1e6; at < f.End; at += 500_000 {
		rows, _, err := replay.Moment(f, at, "", report.Options{})
		if err != nil || len(rows) != 40 {
			t.Fatalf("at %v there are %d keys: %v", at.Sub(f.Begin), len(rows), err)
		}
	}
}

// BenchmarkPlayerSeek is how long a person waits who goes anywhere in ten minutes of 1,000 keys with 500
// requests a second: until the board of that moment is there, and until what came before is too.
//
//	go test -run - -bench PlayerSeek -benchtime 20x ./model/record
func BenchmarkPlayerSeek(b *testing.B) {
	f := crowded(b, newCrowd(1000, 500, false), 10*time.Minute)
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

// BenchmarkBoardMemory is what a board holds of a key after 12 windows of 1 minute in which all keys
// had a request every two seconds, and of one that had none but the first.
//
//	go test -run - -bench BoardMemory -benchtime 1x ./model/record
func BenchmarkBoardMemory(b *testing.B) {
	const keys = 500
	for _, c := range []struct {
		name string
		rate float64
	}{{"busy", keys / 2}, {"calm", keys / 60}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				board, source := &model.Board{}, newCrowd(keys, c.rate, true)
				for board.At.Sub(crowdBegin) < 13*time.Minute {
					board.Apply(source.next())
				}
				with := heapBytes()
				if board.Len() != keys {
					b.Fatal(board.Len())
				}
				board = nil
				b.ReportMetric(float64(with-heapBytes())/keys, "B/key")
				runtime.KeepAlive(source)
			}
		})
	}
}
