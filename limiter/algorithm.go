package limiter

import (
	"fmt"
	"strings"
	"time"

	"ratescope/limiter/convention"
)

// Algorithm names one of the ways to limit a rate. The zero value means that the
// algorithm is not known.
type Algorithm uint8

// The algorithms, by their names in the field.
const (
	Unknown Algorithm = iota
	FixedWindow
	SlidingLog
	SlidingWindow
	StreamCounter
	GCRA
	TokenBucket
	LeakyBucket
)

// kind is what an algorithm keeps about a key.
type kind uint8

const (
	kindUnknown kind = iota
	kindWindow
	kindWeighted
	kindLog
	kindArrival
	kindBucket
)

// arithmetic is all that this package knows about one algorithm. A new one is an entry of
// algorithms, and a form in redisstore.
type arithmetic struct {
	name string // on the command line and in files
	kind kind
	// bursts says that the algorithm spreads its limit and has a burst of its own. What a
	// denied request might charge would only move its refill, so none of them charges it.
	bursts bool
	// fills says that a bucket's level is what is used and not what is left.
	fills bool
	// decide brings a state forward, decides, charges and explains. It is nil for a log,
	// of which State and Memory keep different forms.
	decide func(*request, *Decision, packed) (packed, bool)
	// refund takes units off a state that it brought forward; nil for a log.
	refund func(*request, packed) (packed, bool)
}

// algorithms holds an entry for each Algorithm, in the order in which they are taught.
var algorithms = []arithmetic{
	Unknown: {name: "unknown"},
	FixedWindow: {name: "fixed-window", kind: kindWindow,
		decide: (*request).decideFixed, refund: (*request).refundFixed},
	SlidingLog: {name: "sliding-log", kind: kindLog},
	SlidingWindow: {name: "sliding-window", kind: kindWeighted,
		decide: (*request).decideSliding, refund: (*request).refundSliding},
	StreamCounter: {name: "stream", kind: kindLog},
	GCRA: {name: "gcra", kind: kindArrival, bursts: true,
		decide: (*request).decideGCRA, refund: (*request).refundGCRA},
	TokenBucket: {name: "token-bucket", kind: kindBucket, bursts: true,
		decide: (*request).decideBucket, refund: (*request).refundBucket},
	LeakyBucket: {name: "leaky-bucket", kind: kindBucket, bursts: true, fills: true,
		decide: (*request).decideBucket, refund: (*request).refundBucket},
}

// arithmetic returns the entry of a, or that of Unknown when there is none.
func (a Algorithm) arithmetic() *arithmetic {
	if int(a) < len(algorithms) {
		return &algorithms[a]
	}
	return &algorithms[Unknown]
}

// Algorithms lists every algorithm in the order in which they are taught.
func Algorithms() []Algorithm {
	all := make([]Algorithm, 0, len(algorithms)-1)
	for i := range algorithms[1:] {
		all = append(all, Algorithm(i+1))
	}
	return all
}

// Bursts reports whether a spreads its limit evenly and has a burst of its own.
func (a Algorithm) Bursts() bool { return a.arithmetic().bursts }

// String returns the name used on the command line and in scenario files.
func (a Algorithm) String() string {
	if int(a) < len(algorithms) {
		return algorithms[a].name
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// ParseAlgorithm is the inverse of String. It does not know "auto" or "unknown":
// what those mean is the caller's business.
func ParseAlgorithm(name string) (Algorithm, error) {
	names := make([]string, 0, len(algorithms)-1)
	for _, a := range Algorithms() {
		if a.String() == name {
			return a, nil
		}
		names = append(names, a.String())
	}
	return Unknown, fmt.Errorf("unknown algorithm %q: use one of %s", name, strings.Join(names, ", "))
}

// Convention picks among the variants of an algorithm on which published
// implementations differ. The zero value is this library's default throughout.
// An algorithm ignores what does not apply to it.
type Convention struct {
	Edge      convention.Edge
	Alignment convention.Alignment
	Rounding  convention.Rounding
	Rule      convention.Rule
	Denied    convention.Denied
	Refill    convention.Refill

	// Block is how long a key that overran is refused altogether; 0 is not at all. A
	// request that can never be admitted does not count as overrunning.
	Block time.Duration
}

// Validate says what is wrong with c, or nil. Its errors are ErrBadRequest.
func (c Convention) Validate() error {
	if c.Edge > convention.Closed || c.Alignment > convention.FirstRequest || c.Rounding > convention.Nearest ||
		c.Rule > convention.Below || c.Denied > convention.Charged || c.Refill > convention.Interval {
		return fmt.Errorf("%w: convention %+v holds a value that is not defined: use the named ones", ErrBadRequest, c)
	}
	if c.Block < 0 || c.Block > MaxWindow || c.Block != 0 && c.Block < time.Millisecond {
		return fmt.Errorf("%w: a block of %v is out of range: use 0 (none), or 1ms to 8784h", ErrBadRequest, c.Block)
	}
	return nil
}
