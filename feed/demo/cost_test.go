package demo_test

import (
	"context"
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

// BenchmarkDemo runs the embedded source as the dashboard does, and tells what it and its
// traffic take of one core.
func BenchmarkDemo(b *testing.B) {
	const warm, measured = 5, 50 // batches
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		var before, spent time.Duration
		var begun time.Time
		n := 0
		err := newEmbedded(b, feed.Options{}).Run(ctx, func(model.Batch) {
			switch n++; n {
			case warm:
				before, begun = cpu(), time.Now()
			case warm + measured:
				spent = cpu() - before
				b.ReportMetric(100*float64(spent)/float64(time.Since(begun)), "%core")
				cancel()
			}
		})
		cancel()
		if err != nil {
			b.Fatal(err)
		}
	}
}
