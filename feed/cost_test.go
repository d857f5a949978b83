package feed_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/model"
)

// cpu returns the processor time that this process has taken.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTheDemoIsCheap runs the embedded source as the dashboard does and looks at what it
// takes of one core. It measures only when it is asked to, because it needs an idle
// machine.
func TestTheDemoIsCheap(t *testing.T) {
	if os.Getenv("RATESCOPE_BENCH") == "" {
		t.Skip("measures the processor: set RATESCOPE_BENCH=1")
	}
	e := newEmbedded(t, feed.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	var before time.Duration
	var begun time.Time
	n := 0
	if err := e.Run(ctx, func(b model.Batch) {
		if n++; n == 5 {
			before, begun = cpu(), time.Now()
		}
	}); err != nil {
		t.Fatal(err)
	}
	share := float64(cpu()-before) / float64(time.Since(begun))
	t.Logf("%d batches; %.2f %% of a core", n, 100*share)
	if share > 0.03 {
		t.Errorf("the demo takes %.1f %% of a core, want at most 3 %%", 100*share)
	}
}
