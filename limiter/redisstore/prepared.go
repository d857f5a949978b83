package redisstore

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/internal/rate"
)

// prepared is a validated limit in the form in which it is sent. A Store keeps prepared limits,
// because most limiters use the same few limits again and again.
type prepared struct {
	limit         limiter.Limit
	limits        []limiter.Limit // a slice of the limit alone
	mostCost      int64           // the largest cost of one request
	count, window any             // arguments of scripts
	den           int64           // denominator of the moments of algorithms that refill; else 0
	lean          *script         // the script for a cost of 1; nil if there is none
	leanArgs      []any           // its arguments
	together      *script         // the script that makes several such decisions
}

// maxPrepared is how many prepared limits a Store keeps. If it uses more at the same time, each
// decision prepares its own.
const maxPrepared = 16

// preparedOf returns a limit that is kept in the form in which it is sent, or nil.
func (s *plan) preparedOf(limit limiter.Limit) *prepared {
	for _, p := range *s.limits.Load() {
		if p.limit == limit {
			return p
		}
	}
	return nil
}

// keep adds a limit to the prepared ones. If two goroutines do so at the same time, one of the
// limits may be lost, and is prepared again later.
func (s *plan) keep(p *prepared) {
	all := *s.limits.Load()
	if len(all) == maxPrepared {
		all = all[1:]
	}
	all = append(all[:len(all):len(all)], p)
	s.limits.Store(&all)
}

// prepare returns a limit in the form in which it is sent.
func (s *plan) prepare(limit limiter.Limit) *prepared {
	p := &prepared{limit: limit, limits: []limiter.Limit{limit}, mostCost: s.mostCost(), count: limit.Count, window: micros(limit.Window)}
	switch {
	case limit.Count == 0:
		p.count = int64(unlimited)
	case s.algorithm.Bursts():
		p.count = burstOf(limit)
	}
	if s.algorithm.Bursts() {
		p.den = s.refill(limit).Den
	}
	t, ok := leanParameters(s.algorithm, s.settings, p)
	if !ok {
		return p
	}
	p.lean = compile(s.file, t)
	t.Together = true
	p.together = compile(s.file, t)
	var args []any
	if !t.Slim() {
		args = append(args, p.count)
	}
	if t.More == 3 {
		args = append(args, p.window)
	}
	for _, arg := range s.appendRate(args, p, 1, t.Parts) {
		p.leanArgs = append(p.leanArgs, fmt.Sprint(arg)) // formatted once
	}
	return p
}

// refill is the step in which a limit comes back: so many units in each interval. In a batch, all
// units of the limit come back at the same time.
type refill struct {
	rate.Interval
	units int64
	batch bool
}

// steps returns how many intervals it takes until n units are back.
func (f refill) steps(n int64) int64 { return (n + f.units - 1) / f.units }

// refill returns the step of a limit, as a reduced fraction.
func (s *plan) refill(limit limiter.Limit) refill {
	w, count := micros(limit.Window), max(limit.Count, 1)
	if s.form.batches(s.convention) {
		return refill{rate.Interval{Num: w, Den: 1}, count, true}
	}
	return refill{rate.Interval{Num: w, Den: count}.Reduced(), 1, false}
}

// appendRate appends a script's arguments for a rate, as whole numbers that Lua adds and multiplies
// exactly. The fractions come last, and only if parts is set.
func (s *plan) appendRate(args []any, p *prepared, n int64, parts bool) []any {
	if s.form.args == nil {
		return args
	}
	return s.form.args(s.settings, args, s.refill(p.limit), burstOf(p.limit), n, parts)
}

func gcraArgs(s settings, args []any, f refill, burst, n int64, parts bool) []any {
	one, all := f.Times(n), f.Times(burst)
	args = append(args, one.US, all.US, s.lifeOf(all))
	if parts {
		args = append(args, f.Den, one.Part, all.Part)
	}
	return args
}

func bucketArgs(s settings, args []any, f refill, burst, _ int64, parts bool) []any {
	args = append(args, s.lifeOf(f.Times(f.steps(burst))), f.Num/f.Den)
	if f.batch {
		args = append(args, f.units)
	}
	if parts {
		args = append(args, f.Num%f.Den, f.Den)
	}
	return args
}

// lifeOf returns the expiry of a key in milliseconds: until all of a limit is back.
func (s settings) lifeOf(all rate.Moment) int64 {
	if s.clock != nil {
		return all.US/1000 + 1 + slackMillis
	}
	return all.US/1000 + 1
}

// checkExact returns an error if a limit cannot be counted exactly in Lua, where all products must be
// whole numbers that a float64 holds.
func (s *plan) checkExact(limit limiter.Limit) error {
	if limit.Count == 0 {
		return nil
	}
	f := s.refill(limit)
	if high, low := bits.Mul64(uint64(f.steps(burstOf(limit))), uint64(f.Den)); high > 0 || low > 1<<53 {
		return fmt.Errorf("%w: %d in %v with a burst of %d is too fine to count exactly on Redis: use a rounder limit, or a smaller burst",
			limiter.ErrBadRequest, limit.Count, limit.Window, burstOf(limit))
	}
	return nil
}

// burstOf returns the number of units that a key admits at once.
func burstOf(limit limiter.Limit) int64 { return cmp.Or(limit.Burst, limit.Count) }

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// parameters holds the values from which the text of a script is made, by what they vary with. The
// variant of the algorithm is part of the text, so that the server does not test for it at every request.
type parameters struct {
	Act      action
	size     size
	Careful  bool // checks that the keys hold a state of the algorithm
	Given    bool // the instant is an argument
	Together bool // makes several decisions about keys of their own
	variant
	format
	places
	usual
}

// size is how much of a request a script gets as arguments.
type size uint8

const (
	whole size = iota // all of it
	lean              // all but a cost of 1
	slim              // lean, and neither the limit nor the window
)

// Lean and Slim are asked by the templates, as are Peek, Refund and Resets.
func (t parameters) Lean() bool   { return t.size != whole }
func (t parameters) Slim() bool   { return t.size == slim }
func (t parameters) Peek() bool   { return t.Act == looks }
func (t parameters) Refund() bool { return t.Act == refunds }
func (t parameters) Resets() bool { return t.Act == resets }

// variant is that of the algorithm, as the convention and the options say.
type variant struct {
	Closed, Below, Charged bool
	Exact, Round           bool
	Leaky, Interval        bool
	Denials, Block         bool
	Ahead                  bool // the request is charged before it is decided, and refunded if denied
	Parts                  bool // the interval is not a whole number of microseconds
}

// format is that of the keys and values.
type format struct {
	NameUnit            int64 // microseconds of the unit of a counter's name
	Unit                int64 // microseconds of the unit of a score
	Digits, ScoreDigits int   // decimals of a bound and of a score in that unit
	WholeScores         bool
	Foreign             bool   // times are in units that are not this library's
	Field               string // of a bucket's hash
	Slack               int64  // milliseconds added to a key's expiry if the clock is given
	Holds               string // Redis type of the keys that hold charges
	NoTotals, PerUnit   bool   // of a stream
	Moment, Expires     bool   // a string is an instant; it always has an expiry
}

// places are indexes in KEYS and in ARGV.
type places struct {
	DeniedKey, BlockKey, EndsKey int
	BlockArg, More, Rest         int // the block, the algorithm's own arguments, and the fractions, relative to More
	Stride                       int // number of arguments for each of several limits
}

// usual is one of the usual windows: microseconds, and the milliseconds for which a key is kept for one
// window and for two.
type usual struct{ Window, Life, Lives int64 }

// fixedParameters are functions of the templates that are the same for all scripts.
var fixedParameters = map[string]any{
	"unlimited": func() int64 { return unlimited }, // greater than any sum of units
	"earliest":  func() int64 { return earliest },  // bounds of a plausible instant, in microseconds
	"latest":    func() int64 { return latest },
	"mostUnits": func() int { return mostUnits }, // entries of a stream of units

	// the numbers in a reply for the reasons why a script did not decide
	"replyNoTotals": func() int { return replyNoTotals }, "replyReadOn": func() int { return replyReadOn },
	"replyStartAnew": func() int { return replyStartAnew }, "replyNoCount": func() int { return replyNoCount },
	"replyTooMany": func() int { return replyTooMany }, "replyForeign": func() int { return replyForeign },
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
		Act: act, Given: s.clock != nil, Careful: s.ownLayout() && (act == looks || act == refunds),
		variant: variant{
			Closed: c.Edge == convention.Closed, Below: c.Rule == convention.Below, Charged: c.Denied == convention.Charged,
			Exact: c.Rounding == convention.Exact, Round: c.Rounding == convention.Nearest,
			Leaky: a == limiter.LeakyBucket, Interval: forms[a].batches(c), Parts: true,
			Denials: s.denials && (act == charges || act == chargesAll), Block: c.Block > 0,
		},
		format: format{Field: "tokens", NameUnit: micros(s.layout.CounterUnit()), Unit: 1, Foreign: s.layout.Unit != 0},
		places: places{BlockArg: scriptArgs + 1, More: scriptArgs + 1, Rest: 2},
	}
	if t.Leaky {
		t.Field = "level"
	}
	if act == resets {
		t.NoTotals, t.PerUnit, t.Holds = s.layout.NoTotals, s.layout.PerUnit, forms[a].kind
		t.Moment = a == limiter.GCRA
		t.Expires = a == limiter.FixedWindow && c.Alignment == convention.FirstRequest
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
	t.Ahead = a == limiter.FixedWindow && act == charges && s.convention.Alignment == convention.Epoch && !t.Given && !t.Block && !t.Charged
	if act == chargesAll {
		t.Stride, t.Charged = scriptArgs+forms[a].argCount, false
		if t.Interval {
			t.Stride++
		}
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
	t.size, t.Parts = lean, p.den > 1
	switch {
	case a == limiter.GCRA && !t.Denials:
		t.size, t.More = slim, 1
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
	default:
		t.More = 3
	}
	return t, true
}
