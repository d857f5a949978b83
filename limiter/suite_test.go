package limiter_test

import (
	"testing"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// far is an instant aligned to every window used here.
var far = limitertest.Start

func TestConformance(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				return newMemory(t, a, limiter.WithClock(now), limiter.WithConvention(c))
			}})
		})
	}
}
