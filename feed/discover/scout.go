// Package discover finds keys: it goes through the keyspace with SCAN again and again,
// within a budget, and has those that it has not seen yet looked at closer.
package discover

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/pace"
	"ratescope/feed/rules"
	"ratescope/feed/shape"
	"ratescope/feed/tariff"
	"ratescope/limiter"
	"ratescope/model"
)

// Scout finds keys: it goes through the keyspace with SCAN again and again, within a
// budget, and looks closer at the keys that it has not seen yet.
type Scout struct {
	client   redis.UniversalClient
	nodes    func(context.Context) ([]*redis.Client, error) // that are read
	Patterns []string                                       // as given
	sieves   []sieve                                        // what is asked of SCAN
	now      func() limiter.Instant
	alive    func() bool // the server answers
	rules    []rules.Rule
	narrow   bool    // the patterns are not for all keys
	budget   float64 // share of the server's time

	waiting []string  // keys that SCAN has found and nobody has looked at; Run's alone
	waits   time.Time // since when

	mu       sync.Mutex
	sweep    model.Sweep
	inbox    []shape.Found
	lacks    string          // why there is no discovery at all
	refused  map[string]bool // what would allow to look at keys that could not be
	names    names
	seed     maphash.Seed
	seen     map[uint64]bool // keys that need no second look
	spent    time.Duration   // of the server, not told yet
	tariff   tariff.Tariff
	strained bool
	Rest     time.Duration // between two passes, at least
	Notify   chan struct{}
	// Unchanged, when not nil, says that no key came since the pass before began, so that the
	// next may wait.
	Unchanged func() bool
	// Also, when not nil, is called with the keys of every page, and returns what it took of
	// the server.
	Also func(ctx context.Context, node redis.Cmdable, keys []string) time.Duration
}

// sieve is one way through the keyspace.
type sieve struct {
	match string   // what SCAN lets through
	keep  []string // of which only what one of these matches is wanted; all, where there are none
}

// The pace of discovery: SCAN calls of scanCount keys, so many a second that the first pass
// takes firstShare of the budget and later ones laterShare of it, at most one every
// scanPause; and none at all for a while between passes. Of very many keys each is a miss of the
// server's caches, 1.4 µs, so that a call keeps it for 0.7 ms; its waking up is as much as a
// hundred of them.
const (
	scanCount   = 500
	scanPause   = 10 * time.Millisecond
	firstShare  = 0.75
	laterShare  = 0.2
	scanPrice   = scanCount * 1500 * time.Nanosecond // of one call where the server does not tell, measured on Redis 7.0
	scanAtOnce  = 5                                  // calls at the start of a pass that need not wait
	restBetween = time.Second
	seenMost    = 1 << 20
)

// New returns what finds the keys that match one of the patterns, every key where
// there is neither a pattern nor an exact name, and the counters of the exact names.
func New(c redis.UniversalClient, nodes func(context.Context) ([]*redis.Client, error), patterns, names []string, list []rules.Rule, budget float64, now func() limiter.Instant, alive func() bool) *Scout {
	s := &Scout{
		client: c, nodes: nodes, now: now, alive: alive, rules: list, budget: budget,
		Patterns: patterns, seed: maphash.MakeSeed(), seen: make(map[uint64]bool), refused: make(map[string]bool), Notify: make(chan struct{}, 1), Rest: restBetween,
	}
	if len(s.Patterns) == 0 && len(names) == 0 {
		s.Patterns = []string{"*"}
	}
	for _, p := range s.Patterns {
		one := sieve{match: p}
		// A pattern for the limiter's name should find the counters that it keeps too. One pass for
		// both lets more through than is wanted, and is half the work of two.
		if !(strings.HasPrefix(p, "*") && strings.HasSuffix(p, "*")) {
			one = sieve{match: "*" + p + "*", keep: []string{p, "{" + p + "}:[fs]w:*"}}
		}
		s.sieves = append(s.sieves, one)
	}
	for _, k := range names {
		if r := rules.For(list, k); r == nil || r.Span() == 0 {
			// Without the window the names of its counters cannot be worked out.
			own := limiter.Keys(limiter.FixedWindow, k, limiter.Limit{Window: time.Second}, limiter.Layout{}, 0)[0]
			keep := []string{rules.Literal(strings.TrimSuffix(own, "fw:0")) + "[fs]w:*", rules.Literal(k) + ":[0-9]*"}
			s.sieves = append(s.sieves, sieve{match: "*" + rules.Literal(k) + "*", keep: keep})
		}
	}
	for _, p := range s.Patterns {
		s.narrow = s.narrow || strings.Trim(p, "*") != ""
	}
	s.sweep.Patterns = s.Patterns
	if len(s.sieves) == 0 {
		s.sweep.Passes = 1
	}
	return s
}

// Run goes through the keyspace until ctx ends.
func (s *Scout) Run(ctx context.Context) {
	if len(s.sieves) == 0 {
		return
	}
	for {
		begun := time.Now()
		var err error
		if s.Unchanged == nil || !s.Unchanged() {
			err = s.pass(ctx)
		}
		rest := s.rest(time.Since(begun))
		if err != nil {
			rest = 200 * time.Millisecond
			if connect.Code(err) == "NOPERM" {
				s.mu.Lock()
				s.lacks = "keys cannot be discovered, only those that are named are read: " + connect.Remedy(err)
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
func (s *Scout) pass(ctx context.Context) error {
	for !s.alive() {
		if err := pace.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.sweep.Scanned = 0
	if len(s.seen) > seenMost {
		clear(s.seen)
	}
	s.mu.Unlock()
	pace := pace.Pacer{Free: scanAtOnce, Pause: scanPause}
	share := firstShare * s.budget
	if s.Progress().Passes > 0 {
		share = laterShare * s.budget
	}
	total := int64(0)
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		if n, err := node.DBSize(ctx).Result(); err == nil {
			s.mu.Lock()
			total += n * int64(len(s.sieves))
			s.sweep.Total = total
			s.mu.Unlock()
		}
		for _, m := range s.sieves {
			if err := s.scan(ctx, node, m, &pace, share); err != nil {
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
	first := s.sweep.Passes == 1
	s.lacks = ""
	s.mu.Unlock()
	if first { // of the later ones only what they found is news
		s.wake()
	}
	return nil
}

// eachNode calls do for every node that holds keys, one after the other.
func (s *Scout) eachNode(ctx context.Context, do func(context.Context, redis.Cmdable) error) error {
	nodes, err := s.nodes(ctx)
	if len(nodes) == 0 {
		return err
	}
	var last error
	reached := 0
	for _, node := range nodes {
		if err := do(ctx, node); err != nil {
			last = err // the keys of the other nodes can be found all the same
		} else {
			reached++
		}
	}
	if reached == 0 {
		return last
	}
	return nil
}

// sift keeps what is wanted of the keys that SCAN let through.
func (s *sieve) sift(keys []string) []string {
	if len(s.keep) == 0 {
		return keys
	}
	return slices.DeleteFunc(keys, func(k string) bool {
		return !slices.ContainsFunc(s.keep, func(p string) bool { return rules.Match(p, k) })
	})
}

func (s *Scout) scan(ctx context.Context, node redis.Cmdable, sieve sieve, pace *pace.Pacer, share float64) error {
	var cursor uint64
	for {
		if err := pace.Wait(ctx); err != nil {
			return err
		}
		var keys []string
		var err error
		keys, cursor, err = node.Scan(ctx, cursor, sieve.match, scanCount).Result()
		if err != nil {
			return err
		}
		keys = sieve.sift(keys)
		spent, err := s.inspect(ctx, keys, cursor == 0)
		if err != nil {
			return err
		}
		spent += s.scanCost()
		if s.Also != nil {
			spent += s.Also(ctx, node, keys)
		}
		pace.Pause = max(scanPause, time.Duration(float64(spent)/share))
		s.mu.Lock()
		s.spent += spent
		s.sweep.Scanned = min(s.sweep.Scanned+scanCount, max(s.sweep.Total, scanCount))
		s.mu.Unlock()
		if cursor == 0 {
			return nil
		}
	}
}
