package feed

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// found is a Redis key that looks like a part of a limiter.
type found struct {
	key, typ string
	name     string // the limiter's name
	kind     kind
	own      limiter.Algorithm // of our own counters
	start    limiter.Instant   // of counters
	unit     time.Duration     // of foreign counters
	field    string            // of buckets: what they are told by
	sure     bool              // its data looks like a limiter, not just its type
	denied   bool              // it is the stream of a limiter's denials
	blocked  bool              // it says until when a limiter's key is blocked
}

// scout finds keys: it goes through the keyspace with SCAN again and again, within a
// budget, and looks closer at the keys that it has not seen yet.
type scout struct {
	client   redis.UniversalClient
	patterns []string // as given
	matches  []string // what is asked of SCAN
	rules    []Rule
	now      func() limiter.Instant
	alive    func() bool // the server answers

	mu     sync.Mutex
	sweep  model.Sweep
	inbox  []found
	lacks  string // why there is no discovery at all
	seed   maphash.Seed
	seen   map[uint64]bool // keys that need no second look
	spent  time.Duration   // of the server, not told yet
	rest   time.Duration   // between two passes, at least
	notify chan struct{}
}

// The pace of discovery: SCAN calls of scanCount keys, at most one every scanPause in the
// first pass, which costs a server about 0.6 % of its time, and a quarter of that in later
// ones; and none at all for a while between passes.
const (
	scanCount   = 100
	scanPause   = 10 * time.Millisecond
	laterPause  = 40 * time.Millisecond
	scanPrice   = 60 * time.Microsecond // of one call, measured on Redis 7.0
	scanAtOnce  = 20                    // calls at the start of a pass that need not wait
	restBetween = time.Second
	seenMost    = 1 << 20
)

func newScout(c redis.UniversalClient, o Options, now func() limiter.Instant, alive func() bool) *scout {
	s := &scout{
		client: c, rules: o.Rules, now: now, alive: alive,
		patterns: o.Watch, seed: maphash.MakeSeed(), seen: make(map[uint64]bool), notify: make(chan struct{}, 1), rest: restBetween,
	}
	if len(s.patterns) == 0 && len(o.Keys) == 0 {
		s.patterns = []string{"*"}
	}
	for _, p := range s.patterns {
		s.matches = append(s.matches, p)
		// A pattern for the limiter's name should find the counters that it keeps too.
		if !(strings.HasPrefix(p, "*") && strings.HasSuffix(p, "*")) {
			s.matches = append(s.matches, "{"+p+"}:[fs]w:*")
		}
	}
	for _, k := range o.Keys {
		if r := ruleFor(o.Rules, k); r == nil || r.window() == 0 {
			// Without the window the names of its counters cannot be worked out.
			own := limiter.Keys(limiter.FixedWindow, k, limiter.Limit{Window: time.Second}, limiter.Layout{}, 0)[0]
			s.matches = append(s.matches, literal(strings.TrimSuffix(own, "fw:0"))+"[fs]w:*", literal(k)+":[0-9]*")
		}
	}
	s.sweep.Patterns = s.patterns
	if len(s.matches) == 0 {
		s.sweep.Passes = 1
	}
	return s
}

// run goes through the keyspace until ctx ends.
func (s *scout) run(ctx context.Context) {
	if len(s.matches) == 0 {
		return
	}
	for {
		begun := time.Now()
		err := s.pass(ctx)
		rest := max(s.rest, time.Since(begun)) // at most half of the time in passes
		if err != nil {
			rest = 200 * time.Millisecond
			if code(err) == "NOPERM" {
				s.mu.Lock()
				s.lacks = "keys cannot be discovered, only those that are named are read: " + remedy(err)
				s.sweep.Passes = max(s.sweep.Passes, 1)
				s.mu.Unlock()
				rest = 5 * time.Second
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
	}
}

// pass looks at the whole keyspace once, for every pattern.
func (s *scout) pass(ctx context.Context) error {
	for !s.alive() {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.sweep.Scanned = 0
	if len(s.seen) > seenMost {
		clear(s.seen)
	}
	s.mu.Unlock()
	pace := pacer{free: scanAtOnce, pause: scanPause}
	if s.progress().Passes > 0 {
		pace.pause = laterPause
	}
	total := int64(0)
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		if n, err := node.DBSize(ctx).Result(); err == nil {
			s.mu.Lock()
			total += n * int64(len(s.matches))
			s.sweep.Total = total
			s.mu.Unlock()
		}
		for _, m := range s.matches {
			if err := s.scan(ctx, node, m, &pace); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sweep.Passes++
	s.lacks = ""
	s.mu.Unlock()
	s.wake()
	return nil
}

// eachNode calls do for every node that holds keys, one after the other.
func (s *scout) eachNode(ctx context.Context, do func(context.Context, redis.Cmdable) error) error {
	c, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return do(ctx, s.client)
	}
	var mu sync.Mutex // ForEachMaster calls from many goroutines
	var last error
	reached := 0
	err := c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if err := do(ctx, node); err != nil {
			last = err // the keys of the other nodes can be found all the same
		} else {
			reached++
		}
		return nil
	})
	if err == nil && reached == 0 {
		err = last
	}
	return err
}

// pacer spaces calls out.
type pacer struct {
	free  int
	pause time.Duration
	last  time.Time
}

func (p *pacer) wait(ctx context.Context) error {
	if p.free > 0 {
		p.free--
		p.last = time.Now()
		return ctx.Err()
	}
	err := sleep(ctx, p.pause-time.Since(p.last))
	p.last = time.Now()
	return err
}

// sleep waits or returns the reason of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (s *scout) scan(ctx context.Context, node redis.Cmdable, match string, pace *pacer) error {
	var cursor uint64
	for {
		if err := pace.wait(ctx); err != nil {
			return err
		}
		var keys []string
		var err error
		keys, cursor, err = node.Scan(ctx, cursor, match, scanCount).Result()
		if err != nil {
			return err
		}
		if err := s.inspect(ctx, keys); err != nil {
			return err
		}
		s.mu.Lock()
		s.spent += scanPrice + time.Duration(len(keys))*commandPrice/4
		s.sweep.Scanned = min(s.sweep.Scanned+scanCount, max(s.sweep.Total, scanCount))
		s.mu.Unlock()
		if cursor == 0 {
			return nil
		}
	}
}

// inspect sorts out the keys of one SCAN reply.
func (s *scout) inspect(ctx context.Context, keys []string) error {
	var finds []found
	var unknown []string
	now := s.now()
	s.mu.Lock()
	for _, k := range keys {
		h := maphash.String(s.seed, k)
		if s.seen[h] {
			continue
		}
		s.seen[h] = true
		if f, ok := byName(k, now); ok {
			finds = append(finds, f)
		} else {
			unknown = append(unknown, k)
		}
	}
	s.mu.Unlock()
	more, err := classify(ctx, s.client, unknown, now)
	if err != nil {
		s.forget(unknown...)
		return err
	}
	finds = append(finds, more...)
	if len(finds) > 0 {
		s.mu.Lock()
		s.inbox = append(s.inbox, finds...)
		s.mu.Unlock()
		s.wake()
	}
	return nil
}

// forget makes a key worth a look again.
func (s *scout) forget(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.seen, maphash.String(s.seed, k))
	}
}

func (s *scout) wake() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// collect returns what was found since the call before.
func (s *scout) collect() []found {
	s.mu.Lock()
	defer s.mu.Unlock()
	finds := s.inbox
	s.inbox = nil
	return finds
}

// cost returns what discovery took of the server since the call before.
func (s *scout) cost() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.spent
	s.spent = 0
	return d
}

// progress returns how far discovery has come.
func (s *scout) progress() model.Sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep
}

// lack says why keys cannot be discovered; "" when they can.
func (s *scout) lack() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks
}

// byName knows a key by its name alone.
func byName(key string, now limiter.Instant) (found, bool) {
	if name, a, start, ok := limiter.ParseKey(key); ok {
		return found{key: key, typ: "string", name: name, kind: kindCounter, own: a, start: start, unit: time.Millisecond, sure: true}, true
	}
	if name, ok := ownerOf(key, ":denied", limiter.DeniedKey); ok {
		return found{key: key, typ: "stream", name: name, denied: true}, true
	}
	if name, ok := ownerOf(key, ":blocked", limiter.BlockedKey); ok {
		return found{key: key, typ: "string", name: name, blocked: true}, true
	}
	return found{}, false
}

// ownerOf returns the limiter whose key beside its own this is.
func ownerOf(key, suffix string, beside func(string) string) (string, bool) {
	base, ok := strings.CutSuffix(key, suffix)
	if !ok {
		return "", false
	}
	for _, name := range [...]string{
		strings.TrimSuffix(strings.TrimPrefix(base, "{"), "}"),
		strings.TrimSuffix(base, ":"),
		strings.TrimSuffix(strings.TrimPrefix(base, "{!}"), "!"),
	} {
		if beside(name) == key {
			return name, true
		}
	}
	return "", false
}
