package model

import (
	"time"

	"ratescope/limiter"
)

// Reading is one look at one key. Fields that the look could not tell keep their
// zero value together with a flag that says so; unknown is never zero.
type Reading struct {
	// Key is the limiter's name: the Redis key itself, or, where one limiter lives in
	// several keys (a counter a window), what they have in common. It is raw: hostile
	// bytes and all. Only tui and the table printer may put it on a terminal, escaped.
	Key  string
	Type string // as TYPE says: "zset", "stream", "string", "hash"; "none" for a key that does not exist
	At   limiter.Instant

	// Target is how the key is limited: what the injector needs to fire at it.
	Target Target

	// State is what the server holds, in the terms of Target.Algorithm. For a log it
	// reaches back to the start of the previous clock-aligned window as far as the
	// server still has it or the source saw it.
	State limiter.State
	// Approximate is set when State.Log was gathered from counts per bin, because the
	// key is too hot to fetch entry by entry; counts are exact, instants are not.
	Approximate bool
	// PreviousKnown and ExactKnown say whether the previous window's count and the true
	// count in the sliding window can be told from what the server holds.
	PreviousKnown, ExactKnown bool

	// Arrivals are the requests that the source had not reported before, oldest first,
	// at most one entry an instant and kind.
	Arrivals []Arrival
	// Since is the instant of the source's reading before this one; 0 for the first.
	// From Since to At the Arrivals are complete.
	Since limiter.Instant

	// Trace is how the used level went between Since and At, oldest first, where more
	// was seen than this one reading: readings that a slow screen never saw, or the
	// past that a source knows. At most maxTrace levels are kept.
	Trace []Level

	Denied Count // recorded denials in the last window
	TTL    time.Duration
	Err    string // why the key cannot be read (wrong type, no permission); one sentence without the key
	Notes  []Note
}

// Forever is the TTL of a key that never expires.
const Forever time.Duration = -1

// Count is a number that may not be known.
type Count struct {
	Known bool
	N     int64
}

// Target says how a key is limited.
type Target struct {
	Algorithm  limiter.Algorithm
	Inferred   bool          // the algorithm was guessed from type and shape
	Limit      limiter.Limit // Count 0 with LimitKnown is "count only"
	LimitKnown bool
	Window     time.Duration // 0 when it is not known; it can be known (or inferred) without the limit
	Convention limiter.Convention
	Layout     limiter.Layout
}

// Arrival is requests that came at one instant and met the same fate.
type Arrival struct {
	At     limiter.Instant
	N      int64 // units of cost
	Denied bool
}

// Note is something about a key that its reader should know.
type Note string

// The notes. They are printed as they stand.
const (
	NoExpiry      Note = "no expiry"
	FutureScore   Note = "score in the future"
	GarbageScore  Note = "score is not a time"
	NoCountField  Note = "entry without count"
	OverLimit     Note = "over its limit"
	WrongType     Note = "wrong type"
	Inferred      Note = "algorithm inferred"
	UnknownLimit  Note = "limit unknown"
	UnknownWindow Note = "window unknown"
	TooHot        Note = "read as counts"
	ForeignWriter Note = "written by another program"
	MixedUnits    Note = "scores in mixed units"
	// Outlives is of a window that begins with its first request: when it began is not
	// known, nor how fast it fills.
	Outlives Note = "expires later than its window ends"
)

// Level is how much of the limit was used at one instant, with the instant from
// which on the source had been watching.
type Level struct {
	Since, At limiter.Instant
	Used      int64
}
