package limiter

import (
	"fmt"
	"time"
)

// Convention picks among the variants of an algorithm on which published
// implementations differ. The zero value is this library's default throughout.
// An algorithm ignores what does not apply to it.
type Convention struct {
	Edge      Edge
	Alignment Alignment
	Rounding  Rounding
	Rule      Rule
	Denied    Denied
	Refill    Refill

	// Block is how long a key that overran is refused altogether; 0 is not at all. A
	// request that can never be admitted does not count as overrunning.
	Block time.Duration
}

// Edge says whether an entry exactly one window old still counts.
type Edge uint8

const (
	EdgeHalfOpen Edge = iota // (now-W, now]: it has left
	EdgeClosed               // [now-W, now]: it still counts
)

// Alignment says where windows start.
type Alignment uint8

const (
	AlignEpoch        Alignment = iota // at multiples of W since the Unix epoch
	AlignFirstRequest                  // at the first request that finds no window
)

// Rounding says what becomes of previous × weight.
type Rounding uint8

const (
	RoundFloor   Rounding = iota // rounded down
	RoundExact                   // kept as a fraction
	RoundNearest                 // to nearest, half away from zero
)

// Rule says when a sum of requests is within the limit.
type Rule uint8

const (
	RuleFits  Rule = iota // sum + n <= limit
	RuleBelow             // sum < limit
)

// Denied says what a denied request leaves behind.
type Denied uint8

const (
	DeniedFree    Denied = iota // nothing
	DeniedCharged               // the same as an admitted one
)

// Refill says how a token bucket fills.
type Refill uint8

const (
	RefillGreedy   Refill = iota // continuously
	RefillInterval               // L tokens each window, counted from the request that finds the bucket full
)

// Validate says what is wrong with c, or nil. Its errors are ErrBadRequest.
func (c Convention) Validate() error {
	if c.Edge > EdgeClosed || c.Alignment > AlignFirstRequest || c.Rounding > RoundNearest || c.Rule > RuleBelow || c.Denied > DeniedCharged || c.Refill > RefillInterval {
		return fmt.Errorf("%w: convention %+v holds a value that is not defined: use the named ones", ErrBadRequest, c)
	}
	if c.Block < 0 || c.Block > MaxWindow || c.Block != 0 && c.Block < time.Millisecond {
		return fmt.Errorf("%w: a block of %v is out of range: use 0 (none), or 1ms to 8784h", ErrBadRequest, c.Block)
	}
	return nil
}
