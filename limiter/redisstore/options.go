package redisstore

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
)

// Option configures a Store.
type Option func(*settings)

type settings struct {
	convention limiter.Convention
	clock      func() limiter.Instant
	denials    bool
	layout     layout.Layout
	prefix     string
	batches    int
}

// WithConvention selects the variant of the algorithm. The default is the zero Convention.
func WithConvention(c limiter.Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces the server's clock. It is meant for tests and lessons, because stores that
// share keys must share a clock, which only the server can provide.
func WithClock(now func() limiter.Instant) Option { return func(s *settings) { s.clock = now } }

// WithBlock refuses a key that overran altogether for a while, whichever process asks. It is short
// for a Convention with Block set; a WithConvention after it replaces it.
func WithBlock(d time.Duration) Option { return func(s *settings) { s.convention.Block = d } }

// WithDenials records denied requests for two windows in the stream layout.DeniedKey, in the same
// script that denies them.
func WithDenials() Option { return func(s *settings) { s.denials = true } }

// WithLayout sets the format of the keys, to share them with another program.
func WithLayout(l layout.Layout) Option { return func(s *settings) { s.layout = l } }

// DefaultPrefix is the prefix of all keys, unless WithPrefix sets another one.
const DefaultPrefix = "ratelimit:"

const maxPrefix = 1024 // bytes

// WithPrefix sets the prefix of all keys. A prefix keeps limiters apart from each other and from
// other keys on the server. "" uses the keys as they are, for example those of another program. A
// key that holds anything else than a state of the algorithm is not changed in any case. After
// that was checked for a key, the next 63 decisions about it leave the check out, so that a value
// that another program puts there meanwhile is noticed late.
func WithPrefix(p string) Option { return func(s *settings) { s.prefix = p } }

// WithBatches sends concurrent decisions together, with at most n batches on the wire at the same
// time. The default is 2; 0 sends each decision by itself. It has no effect on a
// client without a Pipeline.
func WithBatches(n int) Option { return func(s *settings) { s.batches = n } }

func (s settings) named(key string) string { return layout.Named(s.prefix, key) }

func settingsOf(opts []Option) (settings, error) {
	s := settings{prefix: DefaultPrefix, batches: 2}
	for i, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: option %d is nil: leave it out", limiter.ErrBadRequest, i+1)
		}
		o(&s)
	}
	return s, nil
}

// validate returns an error if the settings are not possible for the algorithm.
func (s settings) validate(a limiter.Algorithm) error {
	_, known := forms[a]
	switch err := s.convention.Validate(); {
	case !known:
		return fmt.Errorf("%w: %s cannot limit anything on Redis: use one of limiter.Algorithms", limiter.ErrBadRequest, a)
	case err != nil:
		return err
	case s.layout.PerUnit && s.layout.NoTotals:
		return fmt.Errorf("%w: a stream of units is summed by its length, and one that another program keeps is not: choose one layout",
			limiter.ErrBadRequest)
	case s.batches < 0:
		return fmt.Errorf("%w: %d batches at once: use 1 or more, or 0 to send each decision by itself", limiter.ErrBadRequest, s.batches)
	case len(s.prefix) > maxPrefix:
		return fmt.Errorf("%w: the prefix is %d bytes long: use at most %d", limiter.ErrBadRequest, len(s.prefix), maxPrefix)
	case !layout.SharesSlots(s.prefix):
		return fmt.Errorf("%w: the prefix %q has an empty hash tag, so that a cluster would spread the keys of one limiter: leave {} out",
			limiter.ErrBadRequest, s.prefix)
	}
	switch s.layout.Unit {
	case 0, time.Second, time.Millisecond, time.Microsecond:
		return nil
	}
	return fmt.Errorf("%w: a layout in units of %v is not known: use seconds, milliseconds or microseconds",
		limiter.ErrBadRequest, s.layout.Unit)
}

// form describes how one algorithm is kept on Redis. A new algorithm needs an entry in forms, a
// script, and its arithmetic in package limiter.
type form struct {
	file  string // its script, unless the settings need another one
	kind  string // the Redis type of its keys
	holds string // the state in words, with the word of TYPE
	// byWindow is set if the keys are counters, each named after the start of its window.
	byWindow bool
	// values is how many numbers a reply has. The last usual ones are left out if they are 0.
	values, usual int
	decode        func(reply) limiter.Reply
	// args appends the script's arguments for a rate: for a burst that comes back in steps of f,
	// and a cost of n. It is nil for algorithms that count.
	args func(s settings, args []any, f refill, burst, n int64, parts bool) []any
	// argCount is how many arguments args appends, with the fractions, if f is not a batch.
	argCount int
	// refills is set if the convention's Refill applies to the algorithm.
	refills bool
}

// batches reports whether all units of a limit come back at the same time.
func (f form) batches(c limiter.Convention) bool {
	return f.refills && c.Refill == convention.Interval
}

var forms = map[limiter.Algorithm]form{
	limiter.FixedWindow: {file: "fixed.lua", kind: "string", holds: "the counter (a string) that a fixed window keeps", byWindow: true,
		values: 4, usual: 1, decode: decodeFixed},
	limiter.SlidingLog: {file: "log.lua", kind: "zset", holds: "the sorted set (a zset) that a sliding log keeps",
		values: 5, decode: decodeUsed},
	limiter.SlidingWindow: {file: "sliding.lua", kind: "string", holds: "the counter (a string) that a sliding window keeps", byWindow: true,
		values: 5, usual: 1, decode: decodeSliding},
	limiter.StreamCounter: {file: "stream.lua", kind: "stream", holds: "the stream that a stream counter keeps",
		values: 5, decode: decodeUsed},
	limiter.GCRA: {file: "gcra.lua", kind: "string", holds: "the arrival time (a string) that GCRA keeps",
		values: 4, usual: 1, decode: decodeGCRA, args: gcraArgs, argCount: 6},
	limiter.TokenBucket: {file: "bucket.lua", kind: "hash", holds: "the hash that a token bucket keeps",
		values: 5, decode: decodeUsed, args: bucketArgs, argCount: 4, refills: true},
	limiter.LeakyBucket: {file: "bucket.lua", kind: "hash", holds: "the hash that a leaky bucket keeps",
		values: 5, decode: decodeUsed, args: bucketArgs, argCount: 4},
}

func (s settings) scriptFile(a limiter.Algorithm) (string, error) {
	first := s.convention.Alignment == convention.FirstRequest
	switch {
	case a == limiter.FixedWindow && first:
		return "fixed_first.lua", nil
	case a == limiter.SlidingWindow && first:
		return "", fmt.Errorf("%w: a sliding window aligned to the first request would need where both windows began on the server: "+
			"use the clock-aligned one, or memory", limiter.ErrNotOnStore)
	case a == limiter.StreamCounter && s.layout.NoTotals:
		return "stream_no_totals.lua", nil
	case a == limiter.StreamCounter && s.layout.PerUnit:
		return "stream_units.lua", nil
	}
	return forms[a].file, nil
}
