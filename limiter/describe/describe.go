// Package describe says how to show an algorithm: its names, and what it keeps about a key. A
// program that draws limiters needs it; one that only limits does not.
package describe

import "ratescope/limiter"

// Kind says what an algorithm keeps about a key, which is what a screen can draw and which
// fields of a limiter.State it uses.
type Kind uint8

// The kinds.
const (
	Unknown  Kind = iota
	Window        // the count of one window: Start, Current
	Weighted      // and that of the one before, which counts in part: Previous too
	Log           // every request: Log
	Arrival       // the instant of the next one: TAT
	Bucket        // a level and when it was right: Level, Filled
)

// algorithms holds an entry for each limiter.Algorithm.
var algorithms = map[limiter.Algorithm]struct {
	title, short string
	kind         Kind
}{
	limiter.Unknown:       {"algorithm unknown", "–", Unknown},
	limiter.FixedWindow:   {"fixed window", "fixed", Window},
	limiter.SlidingLog:    {"sliding log", "log", Log},
	limiter.SlidingWindow: {"sliding window counter", "sliding", Weighted},
	limiter.StreamCounter: {"stream counter", "stream", Log},
	limiter.GCRA:          {"GCRA", "gcra", Arrival},
	limiter.TokenBucket:   {"token bucket", "token", Bucket},
	limiter.LeakyBucket:   {"leaky bucket", "leaky", Bucket},
}

// KindOf returns what a keeps about a key.
func KindOf(a limiter.Algorithm) Kind { return algorithms[a].kind }

// Title returns the algorithm's name in the field, as in "sliding window counter".
func Title(a limiter.Algorithm) string { return algorithms[a].title }

// Short returns the algorithm's name where there is little room, as in "sliding"; "–" of one
// that is not known.
func Short(a limiter.Algorithm) string { return algorithms[a].short }
