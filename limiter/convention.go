package limiter

import "time"

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
	HalfOpen Edge = iota // (now-W, now]: it has left
	Closed               // [now-W, now]: it still counts
)

// Alignment says where windows start.
type Alignment uint8

const (
	Epoch        Alignment = iota // at multiples of W since the Unix epoch
	FirstRequest                  // at the first request that finds no window
)

// Rounding says what becomes of previous × weight.
type Rounding uint8

const (
	Floor Rounding = iota // rounded down
	Exact                 // kept as a fraction
	Round                 // to nearest, half away from zero
)

// Rule says when a sum of requests is within the limit.
type Rule uint8

const (
	Fits  Rule = iota // sum + n <= limit
	Below             // sum < limit
)

// Denied says what a denied request leaves behind.
type Denied uint8

const (
	Free    Denied = iota // nothing
	Charged               // the same as an admitted one
)

// Refill says how a token bucket fills.
type Refill uint8

const (
	Greedy   Refill = iota // continuously
	Interval               // a batch of tokens each interval
)
