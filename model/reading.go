package model

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// Reading is the state of one key at one instant. A field whose value is unknown has its zero
// value and a flag that says so; unknown is never shown as zero.
type Reading struct {
	// Key is the limiter's name: the Redis key itself or, if one limiter has several keys (such as
	// a counter for each window), the part that these have in common. It may contain hostile bytes.
	// Only tui and the table printer may write it to a terminal, escaped.
	Key  string
	Type string // the answer of TYPE: "zset", "stream", "string", "hash"; "none" if the key does not exist
	At   limiter.Instant

	// Target says how the key is limited, as the injector needs it to fire at the key.
	Target Target

	// State is the server's state, in the terms of Target.Algorithm. A log begins with the
	// previous clock-aligned window, as far as the server still has it or the source has seen it.
	State limiter.State
	// Approximate is set if State.Log was made from counts per bin, because there are too many
	// entries to fetch them. The counts are exact, the instants are not.
	Approximate bool
	// Partial is set while the server has more entries of the key than were read. State holds the
	// oldest part, so that the used units are a lower bound and no verdict is given.
	Partial bool
	// PreviousKnown and ExactKnown are set if the server's state gives the previous window's count
	// and the true count in the sliding window.
	PreviousKnown, ExactKnown bool

	// Arrivals are the requests that the source had not reported before, oldest first, with at most
	// one entry for each instant and kind. A source that begins anew, or finds another window,
	// reports earlier ones too; see Repeats.
	Arrivals []Arrival
	// Since is the instant of the source's previous reading; 0 for the first one. The Arrivals
	// from Since to At are complete.
	Since limiter.Instant

	// Trace holds levels between Since and At, oldest first, if there were readings in between that
	// a slow screen did not get, or if the source knows an earlier past. It has at most maxTrace
	// levels.
	Trace []Level

	// Members are the Redis keys of this limiter, in the order in which its library names them; nil
	// if Key is the only one.
	Members []string
	// Why holds the evidence in clauses, such as "named rl:<address>"; nil if the user named the
	// key. Pattern is a glob of the limiters of the same kind, for a rule.
	Why     []string
	Pattern string
	// Unsettled says, for a likely limiter, which terms are still to be inferred and how, in
	// clauses; nil if nothing is inferred.
	Unsettled []string
	// Ends is the end of a fixed window if the keys contain it instead of the window's start; 0 if
	// it follows from the window's start and length, or is unknown.
	Ends limiter.Instant

	Denied Count // recorded denials in the last window
	TTL    time.Duration
	Err    string // why the key cannot be read (wrong type, no permission); one sentence without the key
	Notes  []Note
}

// Repeats reports whether the Arrivals of r up to old.At were reported before: old is the previous
// reading of the key, and r is the first one of a source that began anew, or the first one for
// another window, whose timeline starts again. If the clock was set back by more than a window,
// what is reported anew is new.
func (r *Reading) Repeats(old *Reading) bool {
	anew := r.Since == 0 || r.Target.Window != old.Target.Window
	return anew && old.At.Sub(r.At) <= r.Target.span()
}

// Forever is the TTL of a key that never expires.
const Forever time.Duration = -1

// Count is a number that may not be known.
type Count struct {
	Known bool
	N     int64
}

// Short writes the count as format.Short does, and one that is not known as format.Unknown.
func (c Count) Short() string {
	return collect.If(!c.Known, format.Unknown, format.Short(c.N))
}

// Target says how a key is limited.
type Target struct {
	Algorithm  limiter.Algorithm
	Inferred   bool          // the algorithm was guessed from type and shape
	Ruled      bool          // a rule of the configuration names the key
	Described  bool          // a rule tells the layout of its keys: nothing is written to them but by its script
	Script     *Script       `json:",omitempty"` // of a Described limiter; nil: its rule has none
	Limit      limiter.Limit // a Count of 0 with LimitKnown means "count only"
	LimitKnown bool
	Window     time.Duration // 0 if unknown; it may be known or inferred without the limit
	Convention limiter.Convention
	Tick       time.Duration // resolution of the limiter's own clock; 0 is a microsecond
	Layout     layout.Layout

	Library   string    // the library in whose layout the keys are, by its name in its package registry; "" if unknown
	Evidence  Evidence  // why the key counts as a limiter
	LimitFrom LimitFrom // where the limit was read; NoLimit while LimitKnown is false
	LimitKey  string    // the Redis key with the limit, if it is not one of the limiter's own; "" for none or unknown
	Exact     bool      // a request from here is written exactly as Library's own client writes it
	// Base is Library's name for the limiter if it differs from the key of the reading; else "".
	// All keys of a limiter share it, and the user may have named any of them.
	Base string
}

// OwnLibrary is the name of ratescope's own package limiter where libraries are named.
const OwnLibrary = "ratescope"

// Evidence says why a key counts as a limiter. Figures are shown for Known and Told. A Likely key
// is listed apart, and is never counted as throttled, near its limit or below it.
type Evidence uint8

const (
	// Told means that a rule, or a pattern narrower than *, names the key. It is the zero value,
	// because sources without evidence, such as old recordings, contain only named keys.
	Told   Evidence = iota
	Known           // name, type, value, expiry and sibling keys agree with one library's layout
	Likely          // value and behaviour fit a limiter, but the name does not show which library's
)

var evidenceNames = [...]string{"told", "known", "likely"}

// String returns the name in the JSON output: told, known or likely.
func (e Evidence) String() string { return evidenceNames[min(int(e), len(evidenceNames)-1)] }

// LimitFrom is where a limit was read.
type LimitFrom uint8

const (
	NoLimit        LimitFrom = iota // the limit is not known
	LimitOfRule                     // a rule or a flag
	LimitOfKey                      // the value of the key
	LimitOfName                     // the name of the key
	LimitOfSibling                  // another key of the same limiter
	LimitInferred                   // inferred by watching
)

var limitSources = [...]string{"", "rule", "key", "name", "sibling", "inferred"}

// String returns the name in the JSON output; "" for NoLimit.
func (f LimitFrom) String() string { return limitSources[min(int(f), len(limitSources)-1)] }

// Arrival holds requests that came at one instant and were all admitted or all denied.
type Arrival struct {
	At     limiter.Instant
	N      int64 // units of cost
	Denied bool
}

// Note is a remark about a key for the user.
type Note string

// The notes. They are printed as they are.
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
	// Outlives marks a window that begins with its first request, whose start and rate are
	// unknown because the key expires later than the window ends.
	Outlives Note = "expires later than its window ends"
	// WindowInferred and LimitGuessed mark figures that were inferred by watching.
	WindowInferred Note = "window inferred"
	LimitGuessed   Note = "limit inferred"
	// WindowUnknown marks a counter whose name does not show its window.
	WindowUnknown Note = "window of the counter unknown"
	// WindowNamed marks a counter that a rule with match tells and whose name reads as a window, so that
	// when it ends is not known. CountsDown marks one that reads as what is left.
	WindowNamed Note = "its name holds a window: tell it by a rule with name"
	CountsDown  Note = "it reads as what is left: tell it by a rule with name"
	// EndUnknown marks a counter that a rule with match tells, of whose kind none expires; BlockBeside and TimeBeside one beside which
	// a key denies for longer, or says another end; Bitmap one as SETBIT stores it; PartOf one beside a list or a set of its rule;
	// CostUnread a stream with costs in another field.
	EndUnknown  Note = "when its window ends is not known: tell it by a rule with name and ends"
	BlockBeside Note = "a key beside it may deny for longer: tell it by a rule with name and block"
	TimeBeside  Note = "a key beside it says another time than its expiry: tell it by a rule with library, or with name and ends"
	Bitmap      Note = "it may be a bitmap and no count: no command that counts has written it"
	PartOf      Note = "it may be a part of the key whose name it continues: narrow the pattern of its rule"
	CostUnread  Note = "its entries have a cost that is not read: add algorithm: stream and weight: FIELD to its rule"
	// UnitUnknown, with the step, and UnitAbove mark counters of which it is not known how much one request counts.
	UnitUnknown      = "it moves in steps of %d, and which its limit counts is not known: tell it by a rule with name and weight: %[1]d, or 1"
	UnitAbove   Note = "it is far above its limit, which may count something else: tell it by a rule with name and weight, 1 for requests"
	// LeaseEnds marks a log whose times are far ahead, or whose name speaks of leases: they may be when these end.
	LeaseEnds Note = "its times may be ends of leases: tell it by a rule with name and stamp: end"
	// OtherWindow marks counters of windows of another length than that of the limit that a rule gives, and UnknownBurst buckets of
	// which it gives no burst.
	OtherWindow  Note = "its limit is not known: the one of its rule is of another window"
	UnknownBurst Note = "its limit is not known without its burst: add --burst, or burst to its rule"
	// LeftAbove marks a count of what is left that no limit of its rule allows, and ClockAhead a bucket that was filled at a time to come.
	LeftAbove  Note = "more is left than its limit: correct the limit of its rule, and its burst"
	ClockAhead Note = "its time is ahead of the server's clock, so that what it holds now is not known"
	// NotWhole marks a key with more entries than are read.
	NotWhole Note = "not read whole, so that what is used is not known"
	// OneOfSeveral marks a key with several limits, for which the one that admits last is shown.
	OneOfSeveral Note = "one of several limits"
	// Serialized marks a counter that is written with its type, which a command that counts would not add to.
	Serialized Note = "its count is written with its type"
	// Lags marks counters to which processes add their own counts only from time to time.
	Lags Note = "lags behind its processes"
	// KindUnknown marks keys that fixed and sliding windows keep in the same form.
	KindUnknown Note = "fixed or sliding window: not told yet"
	// WithoutInjected and InjectedKept mark keys of a board from which requests fired from here
	// were subtracted; see Board.Organic.
	WithoutInjected Note = "without what was injected"
	InjectedKept    Note = "with what was injected: it cannot be told apart"
)

// Level is the number of used units at one instant, and the instant since which the source had
// been watching.
type Level struct {
	Since, At limiter.Instant
	Used      int64
}

// faults are the notes on a key whose limiter does not work as intended.
var faults = [...]Note{WrongType, NoExpiry, FutureScore, GarbageScore, MixedUnits, ClockAhead}

// Fault returns why the key cannot be read or, if it can, the note that says why its limiter does not
// work as intended; "" if there is no fault.
func (r *Reading) Fault() string {
	if r.Err != "" {
		return r.Err
	}
	for _, n := range faults {
		if slices.Contains(r.Notes, n) {
			return string(n)
		}
	}
	return ""
}
