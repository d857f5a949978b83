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
	"golang.org/x/time/rate"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/watch/cost"
	"ratescope/internal/backoff"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/handoff"
)

// Options says what a Scanner looks for and what it may take. Client, Nodes, Now and Away
// are required.
type Options struct {
	Client redis.UniversalClient
	// Nodes returns the servers to scan: the one, or those of a cluster that are read.
	Nodes func(context.Context) ([]*redis.Client, error)
	// Patterns are globs of keys, and Names exact names of limiters whose counters are found
	// by them; without either every key is looked for.
	Patterns, Names []string
	Rules           []config.Rule
	Budget          float64 // share of the server's time
	// Most is the share that the first pass may take while no other client uses the server; no more
	// than Budget is always Budget.
	Most float64
	// Own returns what this process has taken of the server, but for what Cost has not told yet,
	// and how many commands it has sent; nil stands for nothing.
	Own  func() (cpu time.Duration, commands int64)
	Now  func() limiter.Instant
	Away func() bool // the server is known not to answer: do not ask it
	// Time, when not nil, reports that the server's own TIME says when keys were looked at: there is
	// one server, which is not known to forbid it.
	Time func() bool
	// Rest is the least time between two passes; 0 means a second.
	Rest time.Duration
	// Unchanged, when not nil, reports that no key came since the pass before began, so that
	// the next one may wait.
	Unchanged func() bool
	// Page, when not nil, is called with the keys of every page of SCAN, and returns what it
	// took of the server.
	Page func(ctx context.Context, node redis.Cmdable, keys []string) time.Duration
}

// Scanner finds keys: it goes through the keyspace with SCAN again and again, within a
// budget, and looks closer at the keys that it has not seen yet. Its methods are safe for
// concurrent use with Run.
type Scanner struct {
	client  redis.UniversalClient
	o       Options
	rules   []config.Rule
	filters []filter // the patterns that are given to SCAN
	narrow  bool     // the patterns are not for all keys
	found   handoff.Signal
	named   *handoff.Latest[[]string] // keys to look at now

	waiting []string  // keys that SCAN has returned and that are not classified yet; used by Run alone
	waits   time.Time // since when

	governor *cost.Governor // used by Run alone
	sampled  time.Time      // when the governor was last told of the server
	deaf     bool           // the server does not tell it

	mu       sync.Mutex
	sweep    model.Sweep
	inbox    []decode.Found
	lacks    string          // why there is no discovery at all
	refused  map[string]bool // what would allow to look at keys that could not be
	names    names
	seed     maphash.Seed
	seen     map[uint64]bool // keys that need no second look
	spent    time.Duration   // of the server, not told yet
	tariff   cost.Model
	strained bool
	count    float64 // keys of a call of SCAN, the mean of late
}

// filter is one way through the keyspace.
type filter struct {
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
	busyCount   = 50 // while others use the server, each of whom may have to wait for a page
	scanPause   = 10 * time.Millisecond
	firstShare  = 0.75
	laterShare  = 0.2
	keyPrice    = 1500 * time.Nanosecond // of one key of a call where the server does not tell, measured on Redis 7.0
	scanAtOnce  = 5                      // calls at the start of a pass that need not wait
	restBetween = time.Second
	seenMost    = 1 << 20
)

// New returns a Scanner that has not looked yet.
func New(o Options) *Scanner {
	if len(o.Patterns) == 0 && len(o.Names) == 0 {
		o.Patterns = []string{"*"}
	}
	if o.Rest <= 0 {
		o.Rest = restBetween
	}
	s := &Scanner{
		client: o.Client, o: o, rules: o.Rules, found: handoff.NewSignal(),
		named: handoff.New(func(held *[]string, newer []string) { *held = append(*held, newer...) }),
		seed:  maphash.MakeSeed(), seen: make(map[uint64]bool), refused: make(map[string]bool),
		governor: cost.NewGovernor(o.Budget, o.Most), count: scanCount,
	}
	for _, p := range o.Patterns {
		one := filter{match: p}
		// A pattern for the limiter's name should find the counters that it keeps too. One pass for
		// both lets more through than is wanted, and is half the work of two.
		if !(strings.HasPrefix(p, "*") && strings.HasSuffix(p, "*")) {
			one = filter{match: "*" + p + "*", keep: []string{p, "{" + p + "}:[fs]w:*"}}
		}
		s.filters = append(s.filters, one)
		s.narrow = s.narrow || strings.Trim(p, "*") != ""
	}
	for _, k := range o.Names {
		if r := config.RuleFor(o.Rules, k); r == nil || r.Span() == 0 {
			// Without the window the names of its counters cannot be worked out.
			own := layout.Keys(limiter.FixedWindow, k, limiter.Limit{Window: time.Second}, layout.Layout{}, 0)[0]
			keep := []string{config.LiteralGlob(strings.TrimSuffix(own, "fw:0")) + "[fs]w:*", config.LiteralGlob(k) + ":[0-9]*"}
			s.filters = append(s.filters, filter{match: "*" + config.LiteralGlob(k) + "*", keep: keep})
		}
	}
	s.sweep.Patterns, s.sweep.Share = o.Patterns, o.Budget
	if len(s.filters) == 0 {
		s.sweep.Passes = 1
	}
	return s
}

// Patterns returns the globs of what is looked for.
func (s *Scanner) Patterns() []string { return s.o.Patterns }

// Found returns a channel that can be received from after keys were found, or when the
// first pass is over.
func (s *Scanner) Found() <-chan struct{} { return s.found }

// Run goes through the keyspace until ctx ends; keys of Look are looked at in a goroutine
// of the group.
func (s *Scanner) Run(ctx context.Context, beside *panics.Group) {
	beside.Go(func() { s.lookAtNamed(ctx) })
	if len(s.filters) == 0 {
		return
	}
	for {
		begun := time.Now()
		var err error
		if s.o.Unchanged == nil || !s.o.Unchanged() {
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
func (s *Scanner) pass(ctx context.Context) error {
	for s.o.Away() {
		if err := backoff.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.sweep.Scanned, s.sweep.Skipped, s.sweep.Sampled = 0, 0, 0
	if len(s.seen) > seenMost {
		clear(s.seen)
	}
	s.mu.Unlock()
	pages := rate.NewLimiter(rate.Every(scanPause), scanAtOnce)
	total, missed := int64(0), 0
	err := s.eachNode(ctx, &missed, func(ctx context.Context, node redis.Cmdable) error {
		s.forgetLoad()
		defer s.forgetLoad()
		for i, f := range s.filters {
			first := i == 0 // the first page brings the size of the keyspace
			if err := s.scan(ctx, node, f, pages, func(n int64) {
				s.mu.Lock()
				defer s.mu.Unlock()
				total += n
				s.sweep.Keys, s.sweep.Total = total, total*int64(len(s.filters))
			}, first); err != nil {
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
	s.sweep.Missed = missed
	first := s.sweep.Passes == 1
	s.lacks = ""
	s.mu.Unlock()
	if first { // of the later ones only what they found is news
		s.found.Send()
	}
	return nil
}

// eachNode calls do for every node that holds keys, one after the other, and counts in
// missed those that failed. The error is for a server of which no node answers.
func (s *Scanner) eachNode(ctx context.Context, missed *int, do func(context.Context, redis.Cmdable) error) error {
	nodes, err := s.o.Nodes(ctx)
	if len(nodes) == 0 {
		return err
	}
	var last error
	for _, node := range nodes {
		if err := do(ctx, node); err != nil {
			last = err // the keys of the other nodes can be found all the same
			*missed++
		}
	}
	if *missed == len(nodes) {
		return last
	}
	return nil
}

// wanted returns those of the keys that SCAN let through that are looked for.
func (s *filter) wanted(keys []string) []string {
	if len(s.keep) == 0 {
		return keys
	}
	return slices.DeleteFunc(keys, func(k string) bool {
		return !slices.ContainsFunc(s.keep, func(p string) bool { return config.MatchGlob(p, k) })
	})
}

// looked returns at how many keys a page of SCAN has looked that returned so many. Where the pattern
// lets not all of them through, only how many it was to look at is known.
func (s *filter) looked(returned, count int) int64 {
	if strings.Trim(s.match, "*") == "" {
		return int64(returned)
	}
	return int64(count)
}

// scan goes through the keyspace of a node once. With sized the first page comes together
// with the number of its keys.
func (s *Scanner) scan(ctx context.Context, node redis.Cmdable, f filter, pages *rate.Limiter, size func(int64), sized bool) error {
	var cursor uint64
	for {
		if err := backoff.Sleep(ctx, pages.Reserve().Delay()); err != nil {
			return err
		}
		if err := s.sampleLoad(ctx, node); err != nil {
			return err
		}
		count := s.pageSize()
		keys, next, err := s.page(ctx, node, cursor, f.match, count, sized, size)
		if err != nil {
			return err
		}
		cursor, sized = next, false
		looked := f.looked(len(keys), count)
		keys = f.wanted(keys)
		spent, err := s.inspect(ctx, keys, cursor == 0)
		if err != nil {
			return err
		}
		spent += s.scanCost(count)
		if s.o.Page != nil {
			spent += s.o.Page(ctx, node, keys)
		}
		pages.SetLimit(rate.Every(max(scanPause, time.Duration(float64(spent)/s.share()))))
		s.mu.Lock()
		s.spent += spent
		if s.sweep.Scanned += looked; s.sweep.Total > 0 {
			s.sweep.Scanned = min(s.sweep.Scanned, s.sweep.Total)
		}
		s.mu.Unlock()
		if cursor == 0 {
			return nil
		}
	}
}

// page returns one page of SCAN.
func (s *Scanner) page(ctx context.Context, node redis.Cmdable, cursor uint64, match string, count int, sized bool, size func(int64)) ([]string, uint64, error) {
	if !sized {
		return node.Scan(ctx, cursor, match, int64(count)).Result()
	}
	pipe := node.Pipeline()
	n, page := pipe.DBSize(ctx), pipe.Scan(ctx, cursor, match, int64(count))
	_, _ = pipe.Exec(ctx) // each command holds its own error
	if n.Err() == nil {
		size(n.Val())
	}
	return page.Result()
}

// Look looks at keys soon, also at those that it has looked at before: they are written
// often, and SCAN may take its time to come by. It does not wait.
func (s *Scanner) Look(keys ...string) {
	if len(keys) > 0 {
		s.named.Put(slices.Clone(keys))
	}
}

// lookAtNamed looks at the keys of Look until ctx ends.
func (s *Scanner) lookAtNamed(ctx context.Context) {
	for {
		keys, err := s.named.Take(ctx)
		if err != nil {
			return
		}
		s.Forget(keys...)
		finds, unknown := s.sort(keys, true)
		s.report(finds)
		spent, _ := s.examine(ctx, unknown) // what failed is looked at when SCAN comes by
		s.mu.Lock()
		s.spent += spent
		s.mu.Unlock()
	}
}
