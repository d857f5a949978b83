package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// parameters are what a script is written for: the variant of the algorithm is in its text,
// so that the server does not decide about it on every request.
type parameters struct {
	Given, Peek, Refund     bool
	Closed, Below, Charged  bool
	Exact, Round            bool
	Leaky, Interval         bool
	Denials, Block, Foreign bool
	Ahead                   bool // charge first, and take it back
	Careful                 bool // looks closely whether the keys hold a state of the algorithm
	Lean                    bool // for a cost of 1, which is no argument then
	Slim                    bool // lean, and without a limit and a window either
	Brief                   bool // lean, and answered at once in the usual case
	Parts                   bool // the interval is not a whole number of microseconds

	DeniedKey, BlockKey, EndsKey int   // places in KEYS
	BlockArg, More, Rest         int   // places in ARGV: the block, what the algorithm adds, and in that the fractions
	Slack                        int64 // milliseconds that a key outlives its use, where time is given
	Window, Life, Lives          int64 // of a usual window: its microseconds, and the milliseconds for which a key counts for one and for two

	Seconds int64  // of a usual window
	Zeros   string // between a second and a step of a counter's name

	NameUnit            int64 // microseconds a step of a counter's name
	Unit                int64 // microseconds a step of a score
	Digits, ScoreDigits int   // decimals of a bound and of a score in that unit
	WholeScores         bool
	Field               string // of a bucket's hash

	Resets, NoTotals bool
	Holds            string // the type of the keys with charges
	PerUnit          bool   // of a stream, an entry is a unit
	Moment, Expires  bool   // a string among them is an instant, and always has an expiry
	Unlimited        int64  // more than any sum
	Earliest, Latest int64  // instants that a server's clock may have shown
	MostUnits        int64  // entries of a stream of units
	Stride           int    // arguments of each of several limits
}

// action is what a script does about a request.
type action uint8

const (
	charges action = iota // decides, and charges or records
	looks                 // decides and writes nothing
	refunds
	chargesAll // several limits together
	resets
)

// slackMillis keeps keys whose clock is given alive: a server that counts real time would
// drop them while a lesson or a test stands still.
const slackMillis = 3_600_000

// scriptArgs is how many arguments every script has before those of its options, unless
// it is lean: cost, limit, window, and the instant where it is given.
const scriptArgs = 4

func parametersOf(a limiter.Algorithm, s settings, act action) parameters {
	c := s.convention
	t := parameters{
		Given: s.clock != nil, Peek: act == looks, Refund: act == refunds, Unlimited: unlimited, Earliest: earliest, Latest: latest, MostUnits: mostUnits,
		Closed: c.Edge == limiter.EdgeClosed, Below: c.Rule == limiter.RuleBelow, Charged: c.Denied == limiter.DeniedCharged,
		Exact: c.Rounding == limiter.RoundExact, Round: c.Rounding == limiter.RoundNearest,
		Leaky: a == limiter.LeakyBucket, Field: "tokens", Interval: forms[a].batches(c), Parts: true,
		Denials: s.denials && (act == charges || act == chargesAll), Block: c.Block > 0,
		NameUnit: micros(s.layout.CounterUnit()), Unit: 1, Foreign: s.layout.Unit != 0,
		BlockArg: scriptArgs + 1, More: scriptArgs + 1, Rest: 2,
		Careful: s.ownLayout() && (act == looks || act == refunds),
	}
	if t.Leaky {
		t.Field = "level"
	}
	if act == resets {
		t.Resets, t.NoTotals, t.PerUnit, t.Holds = true, s.layout.NoTotals, s.layout.PerUnit, forms[a].kind
		t.Moment = a.Kind() == limiter.KindArrival
		t.Expires = a == limiter.FixedWindow && c.Alignment == limiter.AlignFirstRequest
	}
	if t.Interval {
		t.Rest++
	}
	if t.Given {
		t.Slack = slackMillis
	}
	places := 1
	if t.Denials {
		places++
		t.DeniedKey = places
	}
	if t.Block {
		places++
		t.BlockKey = places
		t.More++
	}
	t.EndsKey = places + 1
	if a.Bursts() {
		t.Charged, t.Below = false, false // neither means anything to them
	}
	t.Ahead = a == limiter.FixedWindow && act == charges && s.convention.Alignment == limiter.AlignEpoch && !t.Given && !t.Block && !t.Charged
	if act == chargesAll {
		t.Stride, t.Charged = scriptArgs+forms[a].rateArgCount(c), false
	}
	switch s.layout.Unit {
	case time.Second:
		t.Unit, t.Digits, t.ScoreDigits = 1_000_000, 6, 6
	case time.Millisecond:
		t.Unit, t.Digits, t.WholeScores = 1000, 3, true
	}
	return t
}

// ownLayout reports whether the keys are kept by this library alone, so that a state of the
// algorithm can be told from what other programs keep.
func (s settings) ownLayout() bool { return s.layout.Unit == 0 && !s.layout.NoTotals }

// carefully are the parameters of a script that also looks closely at what its keys hold.
func carefully(t parameters) parameters {
	t.Careful = true
	return t
}

// usualWindows have lean scripts of their own. They are few, because a server keeps every
// script that it has seen.
var usualWindows = []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}

// leanParameters are those of the usual request, of cost 1, under a limit. There are none where
// a script needs the instant or a block as an argument.
func leanParameters(a limiter.Algorithm, s settings, p *prepared) (parameters, bool) {
	t := parametersOf(a, s, charges)
	if t.Given || t.Block || s.layout.NoTotals || p.limit.Count == 0 && a.Bursts() {
		return t, false
	}
	t.Lean, t.Parts = true, p.den > 1
	t.Slim = a == limiter.GCRA && !t.Denials
	switch {
	case t.Slim:
		t.More = 1
	case a.Bursts() && !t.Denials:
		t.More = 2 // the window is in what they add
	case slices.Contains(usualWindows, p.limit.Window):
		t.More = 2
		t.Window = micros(p.limit.Window)
		t.Life = t.Window / 1000
		if t.Closed {
			t.Life++
		}
		t.Lives = t.Window / 500
		t.Brief = t.Ahead && !t.Denials
		t.Seconds = t.Window / 1_000_000
		t.Zeros = strings.TrimPrefix(strconv.FormatInt(1_000_000/t.NameUnit, 10), "1")
	default:
		t.More = 3
	}
	return t, true
}
