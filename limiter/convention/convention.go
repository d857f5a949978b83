// Package convention names the variants of algorithms on which published implementations differ. A
// limiter.Convention holds one of each; the first of each, its zero value, is the default.
package convention

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
	Floor   Rounding = iota // rounded down
	Exact                   // kept as a fraction
	Nearest                 // to nearest, half away from zero
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
	Interval               // L tokens each window, counted from the request that finds the bucket full
)
