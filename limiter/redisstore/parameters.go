package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// parameters holds the values from which the text of a script is made. The variant of the algorithm is
// part of the text, so that the server does not test for it at every request.
type parameters struct {
	Given, Peek, Refund     bool
	Closed, Below, Charged  bool
	Exact, Round            bool
	Leaky, Interval         bool
	Denials, Block, Foreign bool
	Ahead                   bool // the request is charged before it is decided, and refunded if denied
	Careful                 bool // checks that the keys hold a state of the algorithm
	Lean                    bool // for a cost of 1, which is then no argument
	Slim                    bool // lean, and the limit and the window are no arguments either
	Brief                   bool // lean, with a shorter reply if the request is admitted
	Parts                   bool // the interval is not a whole number of microseconds

	DeniedKey, BlockKey, EndsKey int   // indexes in KEYS
	BlockArg, More, Rest         int   // indexes in ARGV: the block, the algorithm's own arguments, and the fractions, relative to More
	Slack                        int64 // milliseconds added to a key's expiry if the clock is given
	Window, Life, Lives          int64 // of a usual window: microseconds, and the milliseconds for which a key is kept for one window and for two

	Seconds int64  // length of a usual window
	Zeros   string // zeros that turn a second into the unit of a counter's name

	NameUnit            int64 // microseconds of the unit of a counter's name
	Unit                int64 // microseconds of the unit of a score
	Digits, ScoreDigits int   // decimals of a bound and of a score in that unit
	WholeScores         bool
	Field               string // of a bucket's hash

	Resets, NoTotals bool
	Holds            string // Redis type of the keys that hold charges
	PerUnit          bool   // a stream has one entry for each unit
	Moment, Expires  bool   // a string is an instant; it always has an expiry
	Unlimited        int64  // greater than any sum of units
	Earliest, Latest int64  // bounds of a plausible instant, in microseconds
	MostUnits        int64  // greatest number of entries of a stream of units
	Stride           int    // number of arguments for each of several limits
}

// action selects what a script does with a request.
type action uint8

const (
	charges    action = iota // decides, and charges the request or records its denial
	looks                    // decides and writes nothing
	refunds                  // takes units back
	chargesAll               // decides about several limits together
	resets                   // deletes the state
)

// slackMillis is added to the expiry of keys whose clock is given. The server expires them by real
// time, while the given clock may stand still, as in a test or a lesson.
const slackMillis = 3_600_000

// scriptArgs is the number of arguments of every script that is not lean, before those of its options:
// cost, limit, window, and the instant, which is 0 unless the clock is given.
const scriptArgs = 4

// parametersOf returns the parameters of the script of an algorithm for an action.
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
		t.Charged, t.Below = false, false // neither applies to GCRA and buckets
	}
	t.Ahead = a == limiter.FixedWindow && act == charges && s.convention.Alignment == limiter.AlignEpoch && !t.Given && !t.Block && !t.Charged
	if act == chargesAll {
		t.Stride, t.Charged = scriptArgs+forms[a].rateArgCount(c), false
		if t.Denials {
			t.Stride++
		}
	}
	switch s.layout.Unit {
	case time.Second:
		t.Unit, t.Digits, t.ScoreDigits = 1_000_000, 6, 6
	case time.Millisecond:
		t.Unit, t.Digits, t.WholeScores = 1000, 3, true
	}
	return t
}

// ownLayout reports whether the keys are in the layout of this library, in which a state of the
// algorithm can be told from the values of other programs.
func (s settings) ownLayout() bool { return s.layout.Unit == 0 && !s.layout.NoTotals }

// carefully returns the parameters of the same script with a check of the contents of its keys.
func carefully(t parameters) parameters {
	t.Careful = true
	return t
}

// usualWindows are the windows with lean scripts of their own. They are few, because a server keeps
// every script that it has run.
var usualWindows = []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}

// leanParameters returns the parameters of the lean script for requests of cost 1 under a limit. ok is
// false where there is none, because the script needs the instant or a block as an argument.
func leanParameters(a limiter.Algorithm, s settings, p *prepared) (t parameters, ok bool) {
	t = parametersOf(a, s, charges)
	if t.Given || t.Block || s.layout.NoTotals || p.limit.Count == 0 && a.Bursts() {
		return t, false
	}
	t.Lean, t.Parts = true, p.den > 1
	t.Slim = a == limiter.GCRA && !t.Denials
	switch {
	case t.Slim:
		t.More = 1
	case a.Bursts() && !t.Denials:
		t.More = 2 // their own arguments contain the window
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
