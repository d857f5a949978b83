// Package shape tells limiters from other keys by what their data looks like, and decodes
// what others write: times in four units, theoretical arrival times, buckets, entries of
// streams, names that end in the start of a window. It takes nothing on trust: whatever
// does not fit is no limiter, and no input makes it panic.
package shape

import (
	"time"

	"ratescope/limiter"
)

// Found is a Redis key that looks like a part of a limiter.
type Found struct {
	Key, Type string
	Name      string // the limiter's name
	Kind      Kind
	Own       limiter.Algorithm // of our own counters
	Start     limiter.Instant   // of counters
	Unit      time.Duration     // of foreign counters
	Field     string            // of buckets: what they are told by
	Sure      bool              // its data looks like a limiter, not just its type
	Used      int64             // at most so many units count against the limit now; -1 not known
	Denied    bool              // it is the stream of a limiter's denials
	Blocked   bool              // it says until when a limiter's key is blocked
}

// Kind is what the data of a limiter looks like.
type Kind uint8

const (
	None    Kind = iota // nothing there yet
	Log                 // a ZSET of instants
	Stream              // a stream of counts
	Counter             // a string a window
	Single              // one string with an expiry: a window that began with its first request
	TAT                 // one string or hash that holds a TAT
	Bucket              // a hash of level and instant
	Wrong               // a type that the rule does not speak of
)
