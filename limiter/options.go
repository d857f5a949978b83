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
	maxKeys    int // 0 is no bound
}

// WithConvention picks the variant of the algorithm. The default is the zero Convention.
func WithConvention(c Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces this machine's clock. Waits end by it too: they look at it every
// millisecond. In a bubble of testing/synctest no clock has to be given, for a Memory's own
// is that of the bubble. nil is this machine's.
func WithClock(now func() Instant) Option { return func(s *settings) { s.clock = now } }

// WithMaxKeys holds a Memory to n keys at most, MinMaxKeys or more. The default is no bound:
// as many keys as were charged within a window.
//
// Keys are spread over shards, each of which has an equal part of n, so the first ones are
// evicted from about four fifths of n on. A new key then takes the place of the one, of sixteen
// looked at, that would have been as new first. What that one had used is forgotten: it gets at
// most its limit again, early by less than the others would have. No other key is ever denied
// more, a blocked key, which is as new last, goes last, and a client gains nothing by crowding other keys out
// that could not have used the crowd's own limits instead.
func WithMaxKeys(n int) Option { return func(s *settings) { s.maxKeys = n } }

// WithBlock refuses a key that overran altogether for a while, whichever process asks. It is short
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
	if s.maxKeys != 0 && s.maxKeys < MinMaxKeys {
		return fmt.Errorf("%w: a Memory of %d keys: use %d or more, or leave WithMaxKeys out", ErrBadRequest, s.maxKeys, MinMaxKeys)
	}
	return s.convention.Validate()
}
