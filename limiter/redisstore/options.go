package redisstore

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// Option configures a Store.
type Option func(*settings)

type settings struct {
	convention limiter.Convention
	clock      func() limiter.Instant
	denials    bool
	layout     layout.Layout
	prefix     string
	batches    int
}

// WithConvention picks the variant of the algorithm. The default is the zero Convention.
func WithConvention(c limiter.Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces the server's own TIME. It is meant for tests and lessons: stores that
// share keys must share a clock, and only the server's is one.
func WithClock(now func() limiter.Instant) Option { return func(s *settings) { s.clock = now } }

// WithDenials records denied requests in the stream layout.DeniedKey for two windows, in
// the same script that denies them.
func WithDenials() Option { return func(s *settings) { s.denials = true } }

// WithLayout writes in the format of another program that keeps the same keys.
func WithLayout(l layout.Layout) Option { return func(s *settings) { s.layout = l } }

// DefaultPrefix is what the names of keys begin with unless WithPrefix says otherwise.
const DefaultPrefix = "ratelimit:"

const maxPrefix = 1024 // bytes

// WithPrefix begins the names of all keys with p instead of DefaultPrefix. A prefix keeps
// limiters apart from each other and from everything else on the server. "" takes the keys as
// they are, as for those that another program keeps; whatever holds no state of the
// algorithm is left as it is all the same. A key that this Store found to be its own is looked
// at less closely for 63 decisions: another program that replaces its value then is noticed late.
func WithPrefix(p string) Option { return func(s *settings) { s.prefix = p } }

// WithBatches sends decisions that are asked for at the same time together, with at most n
// batches under way at once, as a Batcher does. The default is 2; 0 sends each decision by
// itself. It has no effect on a client that has no Pipeline.
func WithBatches(n int) Option { return func(s *settings) { s.batches = n } }

func settingsOf(opts []Option) (settings, error) {
	s := settings{prefix: DefaultPrefix, batches: 2}
	for i, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: option %d is nil: leave it out", limiter.ErrBadRequest, i+1)
		}
		o(&s)
	}
	return s, nil
}

// validate says what is wrong with the settings of a store of the algorithm.
func (s settings) validate(a limiter.Algorithm) error {
	if _, known := forms[a]; !known {
		return fmt.Errorf("%w: %s cannot limit anything on Redis: use one of limiter.Algorithms", limiter.ErrBadRequest, a)
	}
	if err := s.convention.Validate(); err != nil {
		return err
	}
	if s.layout.PerUnit && s.layout.NoTotals {
		return fmt.Errorf("%w: a stream of units is summed by its length, and one that another program keeps is not: choose one layout", limiter.ErrBadRequest)
	}
	if s.batches < 0 {
		return fmt.Errorf("%w: %d batches at once: use 1 or more, or 0 to send each decision by itself", limiter.ErrBadRequest, s.batches)
	}
	if len(s.prefix) > maxPrefix {
		return fmt.Errorf("%w: the prefix is %d bytes long: use at most %d", limiter.ErrBadRequest, len(s.prefix), maxPrefix)
	}
	switch s.layout.Unit {
	case 0, time.Second, time.Millisecond, time.Microsecond:
		return nil
	}
	return fmt.Errorf("%w: a layout in units of %v is not known: use seconds, milliseconds or microseconds", limiter.ErrBadRequest, s.layout.Unit)
}
