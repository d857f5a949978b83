package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestStreamsAreSeenAtOnce measures from a request to its appearance in a batch.
func TestStreamsAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	s.CLI("XADD", "k", "*", "count", "1")
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{feedtest.MinuteRule("k", limiter.StreamCounter)}})
	r.Focus([]string{"k"})
	sent := make(chan time.Time, 1)
	seen := make(chan time.Duration, 1)
	ctx2, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	ready := make(chan struct{}, 1)
	n := int64(0)
	go func() {
		done <- r.Run(ctx2, func(b model.Batch) {
			for _, x := range b.Readings {
				for _, a := range x.Arrivals {
					n += a.N
					select {
					case at := <-sent:
						seen <- time.Since(at)
					default:
					}
				}
				select {
				case ready <- struct{}{}:
				default:
				}
			}
		})
	}()
	<-ready
	var delays []time.Duration
	const times = 20
	for i := range times {
		time.Sleep(time.Duration(70+7*(i%9)) * time.Millisecond)
		sent <- time.Now()
		if err := c.XAdd(ctx, feedtest.XAdd("k", "1")).Err(); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-seen:
			delays = append(delays, d)
		case <-time.After(servertest.Patience):
			t.Fatal("a request was never seen")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	slices.Sort(delays)
	t.Logf("median %v, p90 %v, longest %v", delays[times/2], delays[times*9/10], delays[times-1])
	if n != times+1 {
		t.Errorf("%d units were told, want %d", n, times+1)
	}
}

// TestQuittingDoesNotWaitForAFrozenServer ends a source while its server hangs.
func TestQuittingDoesNotWaitForAFrozenServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("XADD", "k", "*", "count", "1")
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 30 * time.Millisecond})
	run := feedtest.Run(t, r)
	servertest.Await(t, "the first reading", func() bool { _, ok := run.Reading("k"); return ok })
	s.Freeze()
	defer s.Thaw()
	servertest.Await(t, "word of the silence", func() bool { return run.Last().Server.Link == model.Down })
	begun := time.Now()
	run.Stop()
	t.Logf("it took %v to quit", time.Since(begun))
}
