package demo_test

import (
	"context"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/demo"
	"ratescope/model"
)

func newEmbedded(t testing.TB, o feed.Options) *demo.Embedded {
	t.Helper()
	e, err := demo.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestFirstBatchOfTheDemoIsFull looks at the very first batch.
func TestFirstBatchOfTheDemoIsFull(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	e := newEmbedded(t, feed.Options{})
	made := time.Since(begun)
	var first model.Batch
	ctx, cancel := context.WithCancel(context.Background())
	if err := e.Run(ctx, func(b model.Batch) {
		if len(b.Readings) > 0 && first.At == 0 {
			first = b
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("made in %v, first readings after %v", made, time.Since(begun))
	full := 0
	for _, r := range first.Readings {
		g := r.Gauge(r.At)
		if g.Used.Known && 2*g.Used.N > r.Target.Limit.Count {
			full++
		}
		var n, d int64
		for _, a := range r.Arrivals {
			if a.Denied {
				d += a.N
			} else {
				n += a.N
			}
		}
		t.Logf("%-28s %-15s used %3d of %3d (%v) prev %v cur %v exact %v  arrivals %d denied %d (%v in window) ttl %v notes %v err %q "+
			"trace %d since %v", r.Key, r.Target.Algorithm, g.Used.N, r.Target.Limit.Count, r.Target.Window,
			g.Previous, g.Current, g.Exact, n, d, r.Denied, r.TTL, r.Notes, r.Err, len(r.Trace), r.At.Sub(r.Since))
	}
	if full < 3 {
		t.Errorf("%d keys are more than half full in the first batch, want three and more: the past is not on the server", full)
	}
	if len(first.Readings) < 10 {
		t.Errorf("the first batch has %d readings, want ten and more", len(first.Readings))
	}
}
