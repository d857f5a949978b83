package model

import (
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
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
	// Partial is set while the server holds more of the key than was read: State holds the
	// oldest part, so that what is used is at least what it tells, and there is no verdict.
	Partial bool
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

	// Members are the Redis keys that are this limiter, in the order in which its library names
	// them; nil where Key is the only one.
	Members []string
	// Why holds the evidence in clauses, as "named rl:<address>"; nil where the key was named by a
	// person. Pattern is the glob of the limiters of its kind, for a rule.
	Why     []string
	Pattern string
	// Unsettled says what watching has yet to settle of a limiter that is only likely, in clauses;
	// nil where nothing is inferred.
	Unsettled []string
	// Ends is when the counter of a fixed window ends, where the keys tell that and not when it
	// began; 0 where the window's start and length tell it, or nothing does.
	Ends limiter.Instant

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
	Ruled      bool          // a rule of the configuration names the key
	Limit      limiter.Limit // Count 0 with LimitKnown is "count only"
	LimitKnown bool
	Window     time.Duration // 0 when it is not known; it can be known (or inferred) without the limit
	Convention limiter.Convention
	Tick       time.Duration // the step in which the limiter's own clock counts; 0 is the microsecond
	Layout     layout.Layout

	Library   string    // whose layout the keys have, as its package registry names it; "" where that is not known
	Evidence  Evidence  // what says that the key is a limiter
	LimitFrom LimitFrom // what says the limit; NoLimit while LimitKnown is false
	LimitKey  string    // the Redis key that holds the limit, where that is none of the limiter's own; "" none, or not known
	Exact     bool      // a request from here is written as Library's own client writes one
	// Base is what Library calls the limiter where that is not the name of the reading: the keys of
	// one limiter have it in common, and a person may name any of them. "" elsewhere.
	Base string
}

// OwnLibrary is what the layouts of the package limiter are called where libraries are named.
const OwnLibrary = "ratescope"

// Evidence is what says that a key is a limiter. Figures are shown for Known and Told; a Likely
// key stands apart and is never counted as denied, near its limit or below it.
type Evidence uint8

const (
	// Told: a rule, or a pattern narrower than *, names the key. It is the zero value, since
	// recordings from before the grades, and sources that have none, hold keys that were named.
	Told   Evidence = iota
	Known           // name, type, value, expiry and sibling keys agree with one library's layout
	Likely          // value and behaviour fit, the name does not say which library
)

var evidenceNames = [...]string{"told", "known", "likely"}

// String returns the name that the JSON output has: told, known or likely.
func (e Evidence) String() string { return evidenceNames[min(int(e), len(evidenceNames)-1)] }

// LimitFrom is where a limit was read.
type LimitFrom uint8

const (
	NoLimit        LimitFrom = iota // the limit is not known
	LimitOfRule                     // a rule or a flag
	LimitOfKey                      // the value of the key
	LimitOfName                     // the name of the key
	LimitOfSibling                  // another key of the same limiter
	LimitInferred                   // what was seen while watching
)

var limitSources = [...]string{"", "rule", "key", "name", "sibling", "inferred"}

// String returns the name that the JSON output has; "" for NoLimit.
func (f LimitFrom) String() string { return limitSources[min(int(f), len(limitSources)-1)] }

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
	// WindowInferred and LimitGuessed mark figures that were told from what was watched.
	WindowInferred Note = "window inferred"
	LimitGuessed   Note = "limit inferred"
	// WindowUnknown is of a counter whose name does not tell of which window it is.
	WindowUnknown Note = "window of the counter unknown"
	// OneOfSeveral is of a key with several limits, of which the row is the one that admits last.
	OneOfSeveral Note = "one of several limits"
	// Lags is of counters to which processes add from time to time what they have counted.
	Lags Note = "lags behind its processes"
	// KindUnknown is of keys that two kinds of window keep in the same way.
	KindUnknown Note = "fixed or sliding window: not told yet"
	// WithoutInjected and InjectedKept are of a board from which requests fired from here were
	// subtracted: see Board.Organic.
	WithoutInjected Note = "without what was injected"
	InjectedKept    Note = "with what was injected: it cannot be told apart"
)

// Level is how much of the limit was used at one instant, with the instant from
// which on the source had been watching.
type Level struct {
	Since, At limiter.Instant
	Used      int64
}
