package redisstore

import (
	"fmt"
	"math/bits"
	"time"

	"ratescope/limiter"
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

// gcraArgs is the form.args of GCRA.
func gcraArgs(s settings, args []any, f refill, burst, n int64, parts bool) []any {
	one, all := f.Times(n), f.Times(burst)
	args = append(args, one.US, all.US, s.lifeOf(all))
	if parts {
		args = append(args, f.Den, one.Part, all.Part)
	}
	return args
}

// bucketArgs is the form.args of buckets.
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
		return fmt.Errorf("%w: %d in %v with a burst of %d is too fine to count exactly on Redis: use a rounder limit, or a smaller burst", limiter.ErrBadRequest, limit.Count, limit.Window, burstOf(limit))
	}
	return nil
}

// burstOf returns the number of units that a key admits at once.
func burstOf(limit limiter.Limit) int64 {
	if limit.Burst > 0 {
		return limit.Burst
	}
	return limit.Count
}

// micros returns a duration in microseconds.
func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
