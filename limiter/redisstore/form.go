package redisstore

import (
	"fmt"

	"ratescope/limiter"
)

// form describes how one algorithm is kept on Redis. A new algorithm needs an entry in forms, a
// script, and its arithmetic in package limiter.
type form struct {
	script func(settings) (file string, err error)
	kind   string // the Redis type of its keys
	holds  string // the state in words, with the word of TYPE
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
	return f.refills && c.Refill == limiter.RefillInterval
}

// rateArgCount returns how many arguments the algorithm adds to the common ones.
func (f form) rateArgCount(c limiter.Convention) int {
	if f.batches(c) {
		return f.argCount + 1
	}
	return f.argCount
}

var forms = map[limiter.Algorithm]form{
	limiter.FixedWindow: {
		script: fixedScript, kind: "string", holds: "the counter (a string) that a fixed window keeps", byWindow: true,
		values: 4, usual: 1, decode: decodeFixed,
	},
	limiter.SlidingLog: {
		script: always("log.lua"), kind: "zset", holds: "the sorted set (a zset) that a sliding log keeps",
		values: 5, decode: decodeLog,
	},
	limiter.SlidingWindow: {
		script: slidingScript, kind: "string", holds: "the counter (a string) that a sliding window keeps", byWindow: true,
		values: 5, usual: 1, decode: decodeSliding,
	},
	limiter.StreamCounter: {
		script: streamScript, kind: "stream", holds: "the stream that a stream counter keeps",
		values: 5, decode: decodeLog,
	},
	limiter.GCRA: {
		script: always("gcra.lua"), kind: "string", holds: "the arrival time (a string) that GCRA keeps",
		values: 4, usual: 1, decode: decodeGCRA, args: gcraArgs, argCount: 6,
	},
	limiter.TokenBucket: {
		script: always("bucket.lua"), kind: "hash", holds: "the hash that a token bucket keeps",
		values: 5, decode: decodeBucket, args: bucketArgs, argCount: 4, refills: true,
	},
	limiter.LeakyBucket: {
		script: always("bucket.lua"), kind: "hash", holds: "the hash that a leaky bucket keeps",
		values: 5, decode: decodeBucket, args: bucketArgs, argCount: 4,
	},
}

// always returns a form.script that is the same for all settings.
func always(file string) func(settings) (string, error) {
	return func(settings) (string, error) { return file, nil }
}

func fixedScript(s settings) (string, error) {
	if s.convention.Alignment == limiter.AlignFirstRequest {
		return "fixed_first.lua", nil
	}
	return "fixed.lua", nil
}

func slidingScript(s settings) (string, error) {
	if s.convention.Alignment == limiter.AlignFirstRequest {
		return "", fmt.Errorf("%w: a sliding window aligned to the first request would need where both windows began on the server: use the clock-aligned one, or memory", limiter.ErrNotOnStore)
	}
	return "sliding.lua", nil
}

func streamScript(s settings) (string, error) {
	switch {
	case s.layout.NoTotals:
		return "stream_no_totals.lua", nil
	case s.layout.PerUnit:
		return "stream_units.lua", nil
	}
	return "stream.lua", nil
}
