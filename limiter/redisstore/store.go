package redisstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/internal/given"
	"ratescope/limiter/layout"
)

// Client sends the commands of a Store. Every client of go-redis implements it: single, sentinel,
// cluster, ring, and the automatic pipeliner. A decision is one command, which the client must not
// send twice; see the method NoRetry of go-redis's commands.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Store is a limiter.Limiter on a Redis server. Each decision is one call of a script by its
// digest, on the server's own clock. It is safe for concurrent use, and any number of processes
// may share the keys. The zero value is not usable: use New.
//
// Its decisions leave out the fields for which the server would have to read more: Previous of the
// fixed window, and the clock-aligned windows of logs.
type Store struct {
	plan   *plan
	server *server
	nodes  *nodes // nil for one server
	sums   *sums  // running sums of streams without totals; nil for other layouts
}

// server sends the calls of a plan and says what their answers mean.
type server struct {
	plan       *plan
	client     Client
	noReadOnly atomic.Bool // the server does not know EVALSHA_RO
	known      *knownKeys  // keys whose contents were checked; nil if no check is needed
}

// plan is how a Store keeps limits, what it sends and what replies mean, by its algorithm and settings. It asks no
// server.
type plan struct {
	settings
	algorithm limiter.Algorithm
	form      form
	file      string
	scripts   [resets + 1]*script // by action; nil if it is not possible
	careful   [resets + 1]*script // those that charge with a check of the keys' contents; nil if it is not needed
	limits    atomic.Pointer[[]*prepared]
}

// New returns a limiter that keeps its keys on the server behind c. Concurrent decisions are sent
// together; see WithBatches.
func New(c Client, a limiter.Algorithm, opts ...Option) (*Store, error) {
	if given.Absent(c) {
		return nil, fmt.Errorf("%w: there is no client: pass one of go-redis", limiter.ErrBadRequest)
	}
	s, err := newStore(c, a, opts)
	if err != nil {
		return nil, err
	}
	s.nodes = nodesOf(c)
	if _, together := c.(*redis.AutoPipeliner); together { // it sends commands together itself
		s.plan.batches = 0
	}
	s.server.client = newBatcher(c, s.plan.batches, s.plan.named)
	if s.plan.ownLayout() {
		s.server.known = &knownKeys{seed: maphash.MakeSeed()}
	}
	return s, nil
}

// newStore returns a Store without batches.
func newStore(c Client, a limiter.Algorithm, opts []Option) (*Store, error) {
	set, err := settingsOf(opts)
	if err != nil {
		return nil, err
	}
	kept := &plan{settings: set, algorithm: a, form: forms[a]}
	s := &Store{plan: kept, server: &server{plan: kept, client: c}}
	if err := s.plan.validate(a); err != nil {
		return nil, err
	}
	if s.plan.file, err = set.scriptFile(a); err != nil {
		return nil, err
	}
	s.plan.limits.Store(new([]*prepared))
	if a == limiter.StreamCounter && s.plan.layout.NoTotals {
		s.sums = &sums{known: map[sumName]*runningSum{}}
	}
	for act := charges; act <= resets; act++ {
		if act == refunds && s.sums != nil || act == chargesAll && !kept.keepsSeveral() {
			continue
		}
		t := parametersOf(a, set, act)
		kept.scripts[act] = compile(kept.file, t)
		if kept.ownLayout() && (act == charges || act == chargesAll) {
			t.Careful = true
			kept.careful[act] = compile(kept.file, t)
		}
	}
	return s, nil
}

// keepsSeveral reports whether the settings allow several limits on one key.
func (s *plan) keepsSeveral() bool {
	return s.layout == (layout.Layout{}) && s.convention.Block == 0 &&
		!(s.clock != nil && s.convention.Alignment == convention.FirstRequest)
}

var errNotMade = fmt.Errorf("%w: the Store is nil or the zero value: make it with New", limiter.ErrBadRequest)

func (s *Store) made() bool { return s != nil && s.plan != nil }

// Sleep waits on the clock of WithClock, if there is one: waits for admission end by it.
func (s *Store) Sleep(ctx context.Context, d time.Duration) error {
	if !s.made() {
		return errNotMade
	}
	return given.Until(ctx, s.plan.clock, d)
}

// AllowN implements limiter.Limiter.
func (s *Store) AllowN(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	if n == 0 {
		return s.decide(ctx, key, limit, n, looks)
	}
	return s.decide(ctx, key, limit, n, charges)
}

// Peek implements limiter.Limiter. It uses EVALSHA_RO if the server knows it, so that the server
// itself refuses any write.
func (s *Store) Peek(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	return s.decide(ctx, key, limit, n, looks)
}

// Refund takes back n units, but no more than are still charged. It returns the decision of a peek
// of cost 0 after it.
func (s *Store) Refund(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	if err := s.checkRefund(n); err != nil {
		return limiter.Decision{}, err
	}
	return s.decide(ctx, key, limit, n, refunds)
}

// checkRefund returns an error if a refund of n units is not possible.
func (s *Store) checkRefund(n int64) error {
	switch {
	case !s.made():
		return errNotMade
	case s.sums != nil:
		return fmt.Errorf("%w: what another program put into a stream cannot be refunded", limiter.ErrNotOnStore)
	case n > maxMembers && (s.plan.algorithm == limiter.SlidingLog || s.plan.algorithm == limiter.StreamCounter):
		return fmt.Errorf("%w: a refund of %d would remove as many entries at once: use at most %d", limiter.ErrBadRequest, n, maxMembers)
	}
	return nil
}

// decide sends a request about a key, without its prefix.
func (s *Store) decide(ctx context.Context, key string, limit limiter.Limit, n int64, act action) (limiter.Decision, error) {
	p, err := s.check(ctx, key, limit, n)
	if err != nil {
		return limiter.Decision{}, err
	}
	return s.decideNamed(ctx, s.plan.named(key), p, n, act)
}

// decideNamed sends a request about a key by its full name on the server.
func (s *Store) decideNamed(ctx context.Context, name string, p *prepared, n int64, act action) (limiter.Decision, error) {
	if p.limit.Count == 0 && s.plan.algorithm.Bursts() {
		act = looks // a limit of 0 keeps no state
	}
	about := subject{key: name, limits: p.limits}
	if s.sums != nil {
		return s.decideWithoutTotals(ctx, about, p, n, act)
	}
	text, err := s.server.run(ctx, s.server.command(ctx, name, p, n, act), about, act)
	if err != nil {
		return limiter.Decision{}, err
	}
	if act == refunds {
		n = 0
	}
	return s.server.decode(ctx, about, p, n, act != charges, text)
}

// check validates a request before anything is sent, and returns its limit in the form in which it
// is sent.
func (s *Store) check(ctx context.Context, key string, limit limiter.Limit, n int64) (*prepared, error) {
	if !s.made() {
		return nil, errNotMade
	}
	if err := s.plan.algorithm.CheckKey(ctx, key); err != nil {
		return nil, err
	}
	known := s.plan.preparedOf(limit)
	if known != nil && n >= 0 && n <= known.mostCost {
		return known, nil
	}
	if err := s.plan.algorithm.Check(ctx, s.plan.convention, key, limit, n); err != nil || known != nil && !s.plan.perUnit() {
		return known, err
	}
	if s.plan.perUnit() && n > maxUnits && (n <= limit.Count || limit.Count == 0) {
		return nil, fmt.Errorf("%w: a cost of %d would add as many entries to a stream of units at once: use at most %d, or running totals",
			limiter.ErrBadRequest, n, maxUnits)
	}
	if err := s.plan.checkLimit(limit); err != nil {
		return nil, err
	}
	if known != nil {
		return known, nil
	}
	p := s.plan.prepare(limit)
	s.plan.keep(p)
	return p, nil
}

// CheckLimits says whether the Store can decide about limits, as that of a limiter.Breaker does. It asks
// no server.
func (s *Store) CheckLimits(together bool, parts ...limiter.KeyLimit) error {
	if together {
		_, err := s.checkKeys(context.Background(), 0, parts)
		return err
	}
	for _, p := range parts {
		if _, err := s.check(context.Background(), p.Key, p.Limit, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *plan) mostCost() int64 {
	switch {
	case s.algorithm == limiter.SlidingLog:
		return limiter.MaxLogCost
	case s.perUnit():
		return maxUnits
	}
	return limiter.MaxCount
}

const (
	maxMembers = limiter.MaxLogCost // members or entries that one request adds or removes
	maxUnits   = 1000               // entries that one request adds to a stream of units
	mostUnits  = 50_000             // entries of a stream of units
	unlimited  = 1 << 53            // more than any sum of units
)

// checkLimit returns an error if a valid limit is not possible on Redis: windows must be whole units
// of the counters' names, and all numbers must be exact in Lua.
func (s *plan) checkLimit(limit limiter.Limit) error {
	if s.algorithm.Bursts() {
		return s.checkExact(limit)
	}
	if s.perUnit() && limit.Count > maxMembers {
		return fmt.Errorf("%w: a limit of %d would keep as many entries in a stream of units: use at most %d, or running totals",
			limiter.ErrBadRequest, limit.Count, maxMembers)
	}
	if unit := s.layout.CounterUnit(); s.form.byWindow && limit.Window%unit != 0 {
		return fmt.Errorf("%w: a window of %v does not fit counters named by their start in %v: use whole ones",
			limiter.ErrBadRequest, limit.Window, unit)
	}
	return nil
}

// perUnit reports whether the store keeps a stream with one entry for each unit of cost.
func (s *plan) perUnit() bool { return s.algorithm == limiter.StreamCounter && s.layout.PerUnit }

// command builds the call of the script that decides about one request.
func (s *server) command(ctx context.Context, key string, p *prepared, n int64, act action) *decisionCmd {
	verb, text := any(verbTake), s.plan.scripts[act]
	if act == looks && !s.noReadOnly.Load() {
		verb = verbPeek
	}
	known := act != charges || s.known.trust(subject{key: key})
	lean := act == charges && n == 1 && p.lean != nil && known
	switch {
	case lean:
		text = p.lean
	case !known:
		text = s.plan.careful[act]
	}
	cmd := new(decisionCmd)
	args := append(cmd.room[:0], verb, text.write().sha, nil, s.plan.mainKey(key))
	if s.plan.denials && act == charges {
		args = append(args, layout.DeniedKey(key))
	}
	if s.plan.convention.Block > 0 {
		args = append(args, layout.BlockedKey(key))
	}
	if s.plan.endsApart() {
		args = append(args, layout.EndsKey(key))
	}
	args[2] = len(args) - 3
	if lean {
		cmd.lean = p
		return cmd.set(ctx, text, append(args, p.leanArgs...))
	}
	args = append(args, n, p.count, p.window)
	if s.plan.clock != nil {
		args = append(args, int64(s.plan.clock()))
	} else if s.plan.convention.Block > 0 || p.den > 0 {
		args = append(args, 0)
	}
	if s.plan.convention.Block > 0 {
		args = append(args, int64(s.plan.convention.Block/time.Microsecond))
	}
	return cmd.set(ctx, text, s.plan.appendRate(args, p, n, true))
}

// mainKey returns the first key of a script: a key, or the beginning of the counters' names.
func (s *plan) mainKey(key string) string {
	if s.namedByWindow() {
		return layout.CounterPrefix(s.algorithm, key, s.layout)
	}
	return key
}

// namedByWindow reports whether the keys are named after their windows. A window that begins with
// its first request is kept in the key itself.
func (s *plan) namedByWindow() bool {
	return s.form.byWindow && s.convention.Alignment == convention.Epoch
}

// endsApart reports whether the end of a window is kept in a second key. A window that begins with
// its first request normally ends when its key expires, but keys do not expire by the clock of
// WithClock.
func (s *plan) endsApart() bool {
	return s.clock != nil && s.algorithm == limiter.FixedWindow && s.convention.Alignment == convention.FirstRequest
}
