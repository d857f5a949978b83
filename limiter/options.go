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

// WithBlock refuses a key that overran altogether for a while, whoever asks. It is short
// for a Convention with Block set; a WithConvention after it replaces it.
func WithBlock(d time.Duration) Option { return func(s *settings) { s.convention.Block = d } }

// WithLayout writes in the format of another program that keeps the same keys.
func WithLayout(l Layout) Option { return func(s *settings) { s.layout = l } }

func settingsOf(opts []Option) settings {
	s := settings{}
	for _, o := range opts {
		o(&s)
	}
	return s
}

// validate looks at what can be wrong before the first request.
func (s settings) validate(a Algorithm) error {
	if a == Unknown || int(a) >= len(algorithmNames) {
		return fmt.Errorf("%w: %s cannot limit anything: use one of the seven algorithms", ErrBadRequest, a)
	}
	c := s.convention
	if c.Edge > Closed || c.Alignment > FirstRequest || c.Rounding > Round || c.Rule > Below || c.Denied > Charged || c.Refill > Interval {
		return fmt.Errorf("%w: convention %+v holds a value that is not defined: use the named ones", ErrBadRequest, c)
	}
	if c.Block < 0 || c.Block > MaxWindow || c.Block != 0 && c.Block < time.Millisecond {
		return fmt.Errorf("%w: a block of %v is out of range: use 0 (none), or 1ms to 8784h", ErrBadRequest, c.Block)
	}
	if s.layout.Units && s.layout.Untotalled {
		return fmt.Errorf("%w: a stream of units is summed by its length, and one that another program keeps is not: choose one layout", ErrBadRequest)
	}
	switch s.layout.Unit {
	case 0, time.Second, time.Millisecond, time.Microsecond:
		return nil
	}
	return fmt.Errorf("%w: a layout in units of %v is not known: use seconds, milliseconds or microseconds", ErrBadRequest, s.layout.Unit)
}

// Layout says how a key's data is written where it is not this library's own way,
// so that a request fired at a key that another program keeps looks like that
// program's own. The zero Layout is this library's.
type Layout struct {
	// Unit is that of ZSET scores, and of the window start in counter names: time.Second,
	// time.Millisecond or time.Microsecond. 0 is the library's own.
	Unit time.Duration
	// Suffixed counters are named key:<window start in Unit> instead of {key}:fw:<ms>.
	Suffixed bool
	// Untotalled streams hold entries with a field count but no running total.
	Untotalled bool
	// Units says that a stream holds an entry with the count 1 for each unit of cost, and no
	// running totals, so that its length is what is used. That costs a server a third less
	// than the library's own way, for limits of at most 10,000 and costs of at most 1,000.
	// Nothing else may write the stream. A peek reads the entries that have left the window
	// since the last decision.
	Units bool
}
