package limiter

import (
	"fmt"
	"strings"
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

var algorithmNames = [...]string{
	Unknown:       "unknown",
	FixedWindow:   "fixed-window",
	SlidingLog:    "sliding-log",
	SlidingWindow: "sliding-window",
	StreamCounter: "stream",
	GCRA:          "gcra",
	TokenBucket:   "token-bucket",
	LeakyBucket:   "leaky-bucket",
}

// Algorithms lists every algorithm in the order in which they are taught.
func Algorithms() []Algorithm {
	return []Algorithm{FixedWindow, SlidingLog, SlidingWindow, StreamCounter, GCRA, TokenBucket, LeakyBucket}
}

// String returns the name used on the command line and in scenario files.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// ParseAlgorithm is the inverse of String. It does not know "auto" or "unknown":
// what those mean is the caller's business.
func ParseAlgorithm(name string) (Algorithm, error) {
	for _, a := range Algorithms() {
		if a.String() == name {
			return a, nil
		}
	}
	names := make([]string, 0, len(algorithmNames))
	for _, a := range Algorithms() {
		names = append(names, a.String())
	}
	return Unknown, fmt.Errorf("unknown algorithm %q: use one of %s", name, strings.Join(names, ", "))
}
