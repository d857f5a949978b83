package limiter

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Scripter is what a Redis limiter needs of its client. Every client of go-redis is
// one: single, sentinel, cluster, ring, and the automatic pipeliner. A decision is one
// command, which asks the client never to send it twice.
type Scripter interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Redis decides on a Redis server: one script call a decision, by digest, on the
// server's own clock. It may be used by many goroutines, and any number of processes
// may share the keys. Its zero value is not usable.
//
// Decisions from Redis leave out what would cost the server another look: Previous of
// the fixed window, and the clock-aligned windows of logs.
type Redis struct {
	settings
	algorithm  Algorithm
	client     Scripter
	scripts    [3]script   // by action
	together   script      // empty where several limits cannot be kept
	noReadOnly atomic.Bool // the server is older than EVALSHA_RO
	last       atomic.Pointer[boxed]
	windows    windowSet
	tallies    *tallies
}

// boxed is a validated limit in the form in which it is sent, kept because most
// limiters are asked for the same one again and again.
type boxed struct {
	limit         Limit
	count, window any
	more          []any // what the algorithm adds
	den           int64 // denominator of its moments
}

// NewRedis returns a limiter that keeps its keys on the server behind c.
func NewRedis(c Scripter, a Algorithm, opts ...Option) (*Redis, error) {
	s := settingsOf(opts)
	if err := s.validate(a); err != nil {
		return nil, err
	}
	file, err := scriptFile(a, s)
	if err != nil {
		return nil, err
	}
	r := &Redis{settings: s, algorithm: a, client: c}
	if a == StreamCounter && s.layout.Untotalled {
		file, r.tallies = "stream_untotalled.lua", newTallies()
	}
	for _, act := range []action{charges, looks, givesBack} {
		if act == givesBack && r.tallies != nil {
			continue
		}
		if r.scripts[act], err = compile(file, termsOf(a, s, act)); err != nil {
			return nil, fmt.Errorf("script of %s: %w", a, err)
		}
	}
	if s.layout == (Layout{}) && s.convention.Block == 0 && !(s.clock != nil && s.convention.Alignment == FirstRequest) {
		if r.together, err = compile(file, termsOf(a, s, chargesAll)); err != nil {
			return nil, fmt.Errorf("script of %s: %w", a, err)
		}
	}
	return r, nil
}

// AllowN implements Limiter.
func (r *Redis) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	if n == 0 {
		return r.ask(ctx, key, limit, n, looks)
	}
	return r.ask(ctx, key, limit, n, charges)
}

// Peek implements Limiter. It runs under EVALSHA_RO where the server knows it, so the
// server itself refuses any write.
func (r *Redis) Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return r.ask(ctx, key, limit, n, looks)
}

// Refund gives back n units that were admitted, and never more than are still charged.
// It returns the key as a peek of cost 0 sees it afterwards.
func (r *Redis) Refund(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	if r.tallies != nil {
		return Decision{}, fmt.Errorf("%w: what another program put into a stream cannot be given back", ErrNotOnStore)
	}
	if n > maxMembers && (r.algorithm == SlidingLog || r.algorithm == StreamCounter) {
		return Decision{}, fmt.Errorf("%w: giving back %d would remove as many entries at once: use at most %d", ErrBadRequest, n, maxMembers)
	}
	return r.ask(ctx, key, limit, n, givesBack)
}

func (r *Redis) ask(ctx context.Context, key string, limit Limit, n int64, act action) (Decision, error) {
	b, err := r.check(ctx, key, limit, n)
	if err != nil {
		return Decision{}, err
	}
	if limit.Count == 0 && r.algorithm.bursts() {
		act = looks // without a rate there is nothing to keep
	}
	if r.tallies != nil {
		return r.askUntotalled(ctx, key, b, n, act)
	}
	vals, err := r.run(ctx, r.command(ctx, key, b, n, act), key, act)
	if err != nil {
		return Decision{}, err
	}
	if act == givesBack {
		n = 0
	}
	return r.decode(key, b, n, act != charges, vals)
}

// check looks at everything that can be wrong before the server is asked.
func (r *Redis) check(ctx context.Context, key string, limit Limit, n int64) (*boxed, error) {
	if ctx == nil {
		return nil, fmt.Errorf("%w: the context is nil: pass context.Background()", ErrBadRequest)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := checkCost(n); err != nil {
		return nil, err
	}
	if r.algorithm == SlidingLog && n > maxMembers {
		return nil, fmt.Errorf("%w: a cost of %d would add as many members to a sorted set at once: use at most %d, or the stream counter", ErrBadRequest, n, maxMembers)
	}
	b := r.last.Load()
	if b != nil && b.limit == limit {
		return b, nil
	}
	if err := r.checkLimit(limit); err != nil {
		return nil, err
	}
	b = &boxed{limit: limit, count: limit.Count, window: limit.micros()}
	switch {
	case limit.Count == 0:
		b.count = int64(unlimited)
	case r.algorithm.bursts():
		b.count = limit.burst()
	}
	b.more, b.den = r.rateArgs(limit)
	r.last.Store(b)
	r.windows.add(limit.micros())
	return b, nil
}

const (
	maxMembers = 10_000
	unlimited  = 1 << 53
)

// checkLimit adds what the names of counters ask for: whole steps of their unit.
func (r *Redis) checkLimit(limit Limit) error {
	if err := limit.Validate(); err != nil {
		return err
	}
	if r.algorithm.bursts() {
		return limit.checkExact(r.algorithm, r.convention)
	}
	unit := span(r.layout.counterUnit())
	if (r.algorithm == FixedWindow || r.algorithm == SlidingWindow) && limit.Window%unit != 0 {
		return fmt.Errorf("%w: a window of %v does not fit counters named by their start in %v: use whole ones", ErrBadRequest, limit.Window, unit)
	}
	return nil
}

// command builds the call of the script that decides about one request.
func (r *Redis) command(ctx context.Context, key string, b *boxed, n int64, act action) *decisionCmd {
	verb := any(verbTake)
	if act == looks && !r.noReadOnly.Load() {
		verb = verbPeek
	}
	args := make([]any, 0, 14)
	args = append(args, verb, r.scripts[act].sha, nil, r.mainKey(key))
	if r.denials && act == charges {
		args = append(args, DeniedKey(key))
	}
	if r.convention.Block > 0 {
		args = append(args, BlockedKey(key))
	}
	if r.endsApart() {
		args = append(args, endsKey(key))
	}
	args[2] = len(args) - 3
	args = append(args, n, b.count, b.window)
	if r.clock != nil {
		args = append(args, int64(r.clock()))
	} else if r.convention.Block > 0 || b.more != nil {
		args = append(args, 0)
	}
	if r.convention.Block > 0 {
		args = append(args, int64(r.convention.Block/time.Microsecond))
	}
	args = append(args, b.more...)
	return newDecisionCmd(ctx, args)
}

// rateArgs splits the rate of a limit into whole numbers that Lua multiplies exactly.
func (r *Redis) rateArgs(limit Limit) ([]any, int64) {
	if !r.algorithm.bursts() {
		return nil, 0
	}
	a := &asked{limit: limit, w: limit.micros(), c: r.convention, alg: r.algorithm}
	f := a.refill(r.algorithm)
	f.rate = f.reduced()
	args := []any{f.num / f.den, f.num % f.den, f.den}
	if r.algorithm == GCRA {
		all := f.times(limit.burst())
		return append(args, all.us, all.part), f.den
	}
	return append(args, f.units), f.den
}

// mainKey is the first key that a script is given: a whole one, or the beginning of
// the counters' names.
func (r *Redis) mainKey(key string) string {
	if (r.algorithm == FixedWindow && r.convention.Alignment == Epoch) || r.algorithm == SlidingWindow {
		return counterPrefix(r.algorithm, key, r.layout)
	}
	return key
}

// endsApart says whether the end of a window is kept in a key of its own: a window that
// begins with its first request ends when its key expires, and a given clock does not
// expire anything.
func (r *Redis) endsApart() bool {
	return r.clock != nil && r.algorithm == FixedWindow && r.convention.Alignment == FirstRequest
}

func endsKey(key string) string { return keyBase(key) + ":ends" }

// decode turns a script's answer into the whole decision.
func (r *Redis) decode(key string, b *boxed, n int64, peek bool, vals []int64) (Decision, error) {
	want := 5
	if r.algorithm == FixedWindow || r.algorithm == GCRA {
		want = 4
	}
	blocked := r.convention.Block > 0
	if blocked {
		want++
	}
	if len(vals) > 0 && vals[0] == -1 {
		return Decision{}, fmt.Errorf("stream %q holds entries without running totals, so another program keeps it: use the layout for untotalled streams", key)
	}
	if len(vals) == want-1 && !blocked && (r.algorithm == FixedWindow || r.algorithm == SlidingWindow) {
		vals = append(vals, 0) // the window is the clock-aligned one
	}
	if len(vals) != want {
		return Decision{}, fmt.Errorf("the script for %s answered %d values instead of %d", r.algorithm, len(vals), want)
	}
	a := &asked{now: Instant(vals[1]), limit: b.limit, w: b.limit.micros(), c: r.convention, n: n, alg: r.algorithm}
	d := Decision{At: a.now, Limit: b.limit, Cost: n, Allowed: vals[0] == 1}
	s := State{Algorithm: r.algorithm}
	if blocked {
		s.BlockedUntil = Instant(vals[want-1])
	}
	switch r.algorithm {
	case FixedWindow:
		s.Start, s.Current = a.aligned(), vals[2]
		if r.convention.Alignment == FirstRequest {
			s.Start = a.now
			if vals[3] > 0 {
				s.Start = Instant(vals[3] - a.w - a.edge())
			}
		} else if vals[3] > 0 {
			s.Start = Instant(vals[3])
		}
		d.Allowed = judge(d.Allowed, peek, &s, a, s.fixedFits(a))
		s.explainFixed(&d, a)
	case SlidingWindow:
		s.Start, s.Current, s.Previous = a.aligned(), vals[2], vals[3]
		if vals[4] > 0 {
			s.Start = Instant(vals[4])
		}
		s.PreviousStart = s.Start - Instant(a.w)
		d.Allowed = judge(d.Allowed, peek, &s, a, s.slidingFits(a))
		s.explainSliding(&d, a)
	case SlidingLog, StreamCounter:
		d.Allowed = judge(d.Allowed, peek, &s, a, a.fits(vals[2]))
		explainUsed(&d, a, vals[2], Instant(vals[3]), Instant(vals[4]))
	case GCRA:
		s.TAT, s.Part, s.Parts = Instant(vals[2]), vals[3], b.den
		d.Allowed = judge(d.Allowed, peek, &s, a, s.gcraFits(a))
		s.explainGCRA(&d, a)
	case TokenBucket, LeakyBucket:
		at := a.refill(r.algorithm).kept(Instant(vals[3]), vals[4], b.den)
		held := drained{used: vals[2], at: at}
		d.Allowed = judge(d.Allowed, peek, &s, a, held.fits(a))
		s.explainBucket(&d, a, held)
	}
	s.close(&d, a)
	return d, nil
}

// judge says whether a request is allowed: the script did, unless it only looked.
func judge(allowed, peek bool, s *State, a *asked, fits bool) bool {
	if !peek {
		return allowed
	}
	return fits && s.BlockedUntil <= a.now && !a.never()
}

// aligned is the start of the clock-aligned window that holds now.
func (a *asked) aligned() Instant { return Instant(floorDiv(int64(a.now), a.w) * a.w) }

// Reset implements Limiter. The counters of a window are named after its start, so it
// removes those of every window length that this Redis has been asked about; ResetLimit
// needs no such history.
func (r *Redis) Reset(ctx context.Context, key string) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil: pass context.Background()", ErrBadRequest)
	}
	if err := checkKey(key); err != nil {
		return err
	}
	lengths := r.windows.all()
	if r.mainKey(key) != key && len(lengths) == 0 {
		return fmt.Errorf("%w: which counters %q has follows from its window, and no request has named one yet: use ResetLimit", ErrBadRequest, key)
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	return r.reset(ctx, key, lengths, now)
}

// ResetLimit makes the key as new for one limit.
func (r *Redis) ResetLimit(ctx context.Context, key string, limit Limit) error {
	if _, err := r.check(ctx, key, limit, 0); err != nil {
		return err
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	return r.reset(ctx, key, []int64{limit.micros()}, now)
}

// ResetAt is ResetLimit for the windows around an instant of the caller's choice.
func (r *Redis) ResetAt(ctx context.Context, key string, limit Limit, now Instant) error {
	if _, err := r.check(ctx, key, limit, 0); err != nil {
		return err
	}
	return r.reset(ctx, key, []int64{limit.micros()}, now)
}

func (r *Redis) reset(ctx context.Context, key string, lengths []int64, now Instant) error {
	args := []any{"unlink", key}
	if r.mainKey(key) != key {
		args = args[:1]
		for _, w := range lengths {
			for step := int64(-1); step <= 1; step++ {
				start := Instant(floorDiv(int64(now), w)*w + step*w)
				args = append(args, counterName(r.algorithm, key, r.layout, start))
			}
		}
	}
	if r.denials {
		args = append(args, DeniedKey(key))
	}
	if r.convention.Block > 0 {
		args = append(args, BlockedKey(key))
	}
	if r.endsApart() {
		args = append(args, endsKey(key))
	}
	if r.tallies != nil {
		r.tallies.forget(key)
	}
	cmd := redis.NewIntCmd(ctx, args...)
	return failure(r.client.Process(ctx, cmd))
}

// now asks the clock that decisions are made on.
func (r *Redis) now(ctx context.Context) (Instant, error) {
	if r.clock != nil {
		return r.clock(), nil
	}
	cmd := redis.NewStringSliceCmd(ctx, "time")
	if err := r.client.Process(ctx, cmd); err != nil {
		return 0, failure(err)
	}
	parts := cmd.Val()
	if len(parts) == 2 {
		s, err1 := strconv.ParseInt(parts[0], 10, 64)
		us, err2 := strconv.ParseInt(parts[1], 10, 64)
		if err1 == nil && err2 == nil {
			return Instant(s*1_000_000 + us), nil
		}
	}
	return 0, fmt.Errorf("the server answered TIME with %q", parts)
}
