package limiter

import (
	"fmt"
	"time"
)

// Option sets up a limiter.
type Option func(*settings)

type settings struct {
	convention Convention
	clock      func() Instant
}

// WithConvention picks the variant of the algorithm. The default is the zero Convention.
func WithConvention(c Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces the clock: this machine's for Memory, the server's own TIME for
// Redis. On Redis it is meant for tests and lessons: limiters that share keys must
// share a clock, and only the server's is one.
func WithClock(now func() Instant) Option { return func(s *settings) { s.clock = now } }

// WithBlock refuses a key that overran altogether for a while, whoever asks. It is short
// for a Convention with Block set; a WithConvention after it replaces it.
func WithBlock(d time.Duration) Option { return func(s *settings) { s.convention.Block = d } }

func settingsOf(opts []Option) (settings, error) {
	s := settings{}
	for i, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: option %d is nil: leave it out", ErrBadRequest, i+1)
		}
		o(&s)
	}
	return s, nil
}

// validate looks at what can be wrong before the first request.
func (s settings) validate(a Algorithm) error {
	if a.Kind() == KindUnknown {
		return fmt.Errorf("%w: %s cannot limit anything: use one of limiter.Algorithms", ErrBadRequest, a)
	}
	return s.convention.Validate()
}
