package limiter

import "time"

// Option sets up a limiter.
type Option func(*settings)

type settings struct {
	convention Convention
	clock      func() Instant
	denials    bool
	layout     Layout
}

// WithConvention picks the variant of the algorithm. The default is the zero Convention.
func WithConvention(c Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces the clock: this machine's for Memory, the server's own TIME for
// Redis. On Redis it is meant for tests and lessons: limiters that share keys must
// share a clock, and only the server's is one.
func WithClock(now func() Instant) Option { return func(s *settings) { s.clock = now } }

// WithDenials records denied requests: Redis keeps them in the stream DeniedKey for two
// windows, in the same script that denied them. Memory has no use for it.
func WithDenials() Option { return func(s *settings) { s.denials = true } }

// WithLayout writes in the format of another program that keeps the same keys.
func WithLayout(l Layout) Option { return func(s *settings) { s.layout = l } }

func settingsOf(opts []Option) settings {
	s := settings{}
	for _, o := range opts {
		o(&s)
	}
	return s
}

// systemClock is the one place where this package looks at a clock. It counts from a
// monotonic reading, which is cheaper than the wall clock and never jumps.
func systemClock() func() Instant {
	start := time.Now()
	base := InstantOf(start)
	return func() Instant { return base.Add(time.Since(start)) }
}
