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
	file       string
	scripts    [3]*script  // by action
	together   *script     // nil where several limits cannot be kept
	noReadOnly atomic.Bool // the server is older than EVALSHA_RO
	boxes      atomic.Pointer[[]*boxed]
	windows    windowSet
	tallies    *tallies
}

// boxed is a validated limit in the form in which it is sent, kept because most
// limiters are asked for the same few again and again.
type boxed struct {
	limit         Limit
	count, window any
	den           int64   // denominator of the moments of what refills; else 0
	lean          *script // for a cost of 1; nil where there is none
	leanArgs      []any
}

// maxBoxes is how many limits are kept so; with more of them in use at once each decision
// prepares its own.
const maxBoxes = 16

// NewRedis returns a limiter that keeps its keys on the server behind c.
func NewRedis(c Scripter, a Algorithm, opts ...Option) (*Redis, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: there is no client: pass one of go-redis", ErrBadRequest)
	}
	return newRedis(c, a, opts)
}

func newRedis(c Scripter, a Algorithm, opts []Option) (*Redis, error) {
	s := settingsOf(opts)
	if err := s.validate(a); err != nil {
		return nil, err
	}
	file, err := scriptFile(a, s)
	if err != nil {
		return nil, err
	}
	r := &Redis{settings: s, algorithm: a, client: c, file: file}
	r.boxes.Store(new([]*boxed))
	if a == StreamCounter && s.layout.Untotalled {
		r.tallies = newTallies()
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
	text, err := r.run(ctx, r.command(ctx, key, b, n, act), subject{key: key, limit: limit}, act)
	if err != nil {
		return Decision{}, err
	}
	if act == givesBack {
		n = 0
	}
	return r.decode(key, b, n, act != charges, text)
}

// check looks at everything that can be wrong before the server is asked.
func (r *Redis) check(ctx context.Context, key string, limit Limit, n int64) (*boxed, error) {
	if err := checkAsked(ctx, key); err != nil {
		return nil, err
	}
	if err := checkCost(n); err != nil {
		return nil, err
	}
	if r.algorithm == SlidingLog && n > maxMembers {
		return nil, fmt.Errorf("%w: a cost of %d would add as many members to a sorted set at once: use at most %d, or the stream counter", ErrBadRequest, n, maxMembers)
	}
	if r.units() && n > maxUnits {
		return nil, fmt.Errorf("%w: a cost of %d would add as many entries to a stream of units at once: use at most %d, or running totals", ErrBadRequest, n, maxUnits)
	}
	boxes := *r.boxes.Load()
	for _, b := range boxes {
		if b.limit == limit {
			return b, nil
		}
	}
	if err := r.checkLimit(limit); err != nil {
		return nil, err
	}
	b, err := r.box(limit)
	if err != nil {
		return nil, err
	}
	if len(boxes) == maxBoxes {
		boxes = boxes[1:]
	}
	boxes = append(boxes[:len(boxes):len(boxes)], b)
	r.boxes.Store(&boxes) // when two do this at once one of them is prepared again
	r.windows.add(limit.micros())
	return b, nil
}

// box prepares what is sent about a limit.
func (r *Redis) box(limit Limit) (*boxed, error) {
	b := &boxed{limit: limit, count: limit.Count, window: limit.micros()}
	switch {
	case limit.Count == 0:
		b.count = int64(unlimited)
	case r.algorithm.bursts():
		b.count = limit.burst()
	}
	if r.algorithm.bursts() {
		a := &asked{limit: limit, w: limit.micros(), c: r.convention, alg: r.algorithm}
		b.den = a.refill().reduced().den
	}
	t, ok := leanTerms(r.algorithm, r.settings, b)
	if !ok {
		return b, nil
	}
	var err error
	if b.lean, err = compile(r.file, t); err != nil {
		return nil, fmt.Errorf("script of %s: %w", r.algorithm, err)
	}
	var args []any
	if !t.Slim {
		args = append(args, b.count)
	}
	if t.More == 3 {
		args = append(args, b.window)
	}
	for _, arg := range r.rateArgs(args, b, 1, t.Parts) {
		b.leanArgs = append(b.leanArgs, fmt.Sprint(arg)) // formatted once
	}
	return b, nil
}

const (
	maxMembers = 10_000
	maxUnits   = 1000
	mostUnits  = 50_000
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
	if r.units() && limit.Count > maxMembers {
		return fmt.Errorf("%w: a limit of %d would keep as many entries in a stream of units: use at most %d, or running totals", ErrBadRequest, limit.Count, maxMembers)
	}
	unit := span(r.layout.counterUnit())
	if (r.algorithm == FixedWindow || r.algorithm == SlidingWindow) && limit.Window%unit != 0 {
		return fmt.Errorf("%w: a window of %v does not fit counters named by their start in %v: use whole ones", ErrBadRequest, limit.Window, unit)
	}
	return nil
}

// units says whether each unit of cost is an entry of a stream.
func (r *Redis) units() bool { return r.algorithm == StreamCounter && r.layout.Units }

// command builds the call of the script that decides about one request.
func (r *Redis) command(ctx context.Context, key string, b *boxed, n int64, act action) *decisionCmd {
	verb, s := any(verbTake), r.scripts[act]
	if act == looks && !r.noReadOnly.Load() {
		verb = verbPeek
	}
	lean := act == charges && n == 1 && b.lean != nil
	if lean {
		s = b.lean
	}
	args := make([]any, 0, 16)
	args = append(args, verb, s.sha, nil, r.mainKey(key))
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
	if lean {
		return newDecisionCmd(ctx, s, append(args, b.leanArgs...))
	}
	args = append(args, n, b.count, b.window)
	if r.clock != nil {
		args = append(args, int64(r.clock()))
	} else if r.convention.Block > 0 || b.den > 0 {
		args = append(args, 0)
	}
	if r.convention.Block > 0 {
		args = append(args, int64(r.convention.Block/time.Microsecond))
	}
	return newDecisionCmd(ctx, s, r.rateArgs(args, b, n, true))
}

// rateArgs appends what a script has to know of a rate, in whole numbers that Lua adds
// and multiplies exactly. Those that tell fractions come last and are left out of a
// lean script that has none.
func (r *Redis) rateArgs(args []any, b *boxed, n int64, parts bool) []any {
	if !r.algorithm.bursts() {
		return args
	}
	a := &asked{limit: b.limit, w: b.limit.micros(), c: r.convention, alg: r.algorithm}
	f := a.refill()
	f.rate = f.reduced()
	all := f.times(f.steps(b.limit.burst()))
	life := all.us/1000 + 1
	if r.clock != nil {
		life += slackMillis
	}
	switch {
	case r.algorithm == GCRA:
		one := f.times(n)
		args = append(args, one.us, all.us, life)
		if parts {
			args = append(args, f.den, one.part, all.part)
		}
		return args
	case r.convention.Refill == Interval && r.algorithm == TokenBucket:
		args = append(args, life, f.num/f.den, f.units)
	default:
		args = append(args, life, f.num/f.den)
	}
	if parts {
		args = append(args, f.num%f.den, f.den)
	}
	return args
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
