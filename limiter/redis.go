package limiter

import (
	"context"
	"fmt"
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
