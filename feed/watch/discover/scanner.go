// Package discover finds limiters: it goes through the keyspace with SCAN again and again,
// within a budget, and examines the keys that it has not seen before.
package discover

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/watch/health"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/handoff"
	"ratescope/model/naming"
)

// Options says what a Scanner looks for and how much server time it may take. Client, Nodes, Own, Now, Away and Trip are required.
type Options struct {
	Client redis.UniversalClient
	// Nodes returns the servers to scan: the single one, or the watched nodes of a cluster.
	Nodes func(context.Context) ([]*redis.Client, error)
	// Patterns are globs of keys. Names are exact names of limiters, whose counters are searched for. Without either, every key is examined.
	Patterns, Names []string
	Rules           []config.Rule
	Budget          float64 // share of the server's time
	// Most is the share that the first pass may take while no other client uses the server; a value below Budget means Budget.
	Most float64
	// Own returns the server time that this process has taken, without the time that Cost has
	// yet to return, and the number of commands that it has sent.
	Own  func() (cpu time.Duration, commands int64)
	Now  func() limiter.Instant // the server's clock
	Away func() bool            // reports whether the server is known not to answer
	// Time reports whether the server's TIME can date the examination of keys: there is a single
	// server, and TIME is not known to be forbidden. It may be nil.
	Time func() bool
	// Rest is the least time between two passes; 0 means a second.
	Rest time.Duration
	// Unchanged reports whether no key was written since the start of the previous pass, so that the next pass is not needed. It may be nil.
	Unchanged func() bool
	// Page is called with the keys of every page of SCAN, and returns the server time that it took. It may be nil.
	Page func(ctx context.Context, node redis.Cmdable, keys []string) time.Duration
	// Trip returns the usual round trip to the server.
	Trip func() time.Duration
}

// Scanner finds limiters. Its methods are safe for concurrent use with Run.
type Scanner struct {
	o       Options
	filters []filter // one SCAN through the keyspace for each
	narrow  bool     // there is a pattern that is not for all keys
	found   handoff.Signal
	named   *handoff.Latest[[]string] // keys of Look, to be examined at once

	waiting      []string  // keys of SCAN that are not examined yet; used by Run alone
	waitingSince time.Time // since when the first of them waits
	pace         pace      // used by Run alone

	mu      sync.Mutex
	sweep   model.Sweep
	inbox   []decode.Found
	lacks   string               // why no key can be discovered; "" when keys can be
	refused map[string]time.Time // the ACL commands that would permit examining more keys, and when one was first missing
	names   names
	seed    maphash.Seed
	seen    map[uint64]bool // hashes of the keys that were examined
	spent   time.Duration   // server time since the last call of Cost
	prices  health.Costs
	count   float64 // recent mean of COUNT in the calls of SCAN
}

// filter selects keys in one SCAN through the keyspace.
type filter struct {
	match string   // the MATCH of SCAN
	keep  []string // globs, one of which a key must match as well; none for all keys
}

// The pace of discovery: SCAN calls of scanCount keys, as many a second as the first pass needs to take firstShare of the budget and
// later passes laterShare of it, at most one every scanPause; and a pause between passes. In a large keyspace every key is a cache miss
// on the server, 1.4 µs, so that one call takes 0.7 ms; waking up the server takes as long as a hundred keys.
const (
	scanCount   = 500
	busyCount   = 50                    // while other clients use the server, which may have to wait for a call
	farTrip     = 25 * time.Millisecond // pages are farPages times as long at most, by the round trip
	farPages    = 4
	scanPause   = 10 * time.Millisecond
	firstShare  = 0.75
	laterShare  = 0.2
	keyPrice    = 1500 * time.Nanosecond // server time of one key if the server reports none, measured on Redis 7.0
	scanAtOnce  = 5                      // calls at the start of a pass without a pause between them
	looksAtOnce = 4                      // pages whose keys are examined at once: each takes two round trips or more
	restBetween = time.Second
	seenMost    = 1 << 20         // keys beyond which seen is emptied
	askAgain    = 5 * time.Minute // after that time keys that this user may not examine are examined again
)

// New returns a Scanner that has not scanned yet.
func New(o Options) *Scanner {
	if len(o.Patterns) == 0 && len(o.Names) == 0 {
		o.Patterns = []string{"*"}
	}
	if o.Rest <= 0 {
		o.Rest = restBetween
	}
	s := &Scanner{
		o: o, found: handoff.NewSignal(),
		named: handoff.New(func(held *[]string, newer []string) { *held = append(*held, newer...) }),
		seed:  maphash.MakeSeed(), seen: make(map[uint64]bool), names: names{}, refused: make(map[string]time.Time), count: scanCount,
	}
	s.pace = pace{governor: health.NewGovernor(o.Budget, o.Most), budget: o.Budget, most: o.Most, trip: o.Trip, own: s.own}
	s.pace.show = func(share float64, why model.Pace) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sweep.Share, s.sweep.Pace = share, why
	}
	for _, p := range o.Patterns {
		one := filter{match: p}
		// A pattern for a limiter's name has to find the limiter's counters too. One SCAN for both
		// returns more keys than are wanted, and takes half the work of two.
		if !(strings.HasPrefix(p, "*") && strings.HasSuffix(p, "*")) {
			one = filter{match: "*" + p + "*", keep: []string{p, "{" + p + "}:[fs]w:*"}}
		}
		s.filters = append(s.filters, one)
		s.narrow = s.narrow || strings.Trim(p, "*") != ""
	}
	for _, k := range o.Names {
		if config.RuleFor(o.Rules, k).Span() == 0 {
			// Without a rule that gives the window, the names of the counters are not known.
			own := layout.Keys(limiter.FixedWindow, k, limiter.Limit{Window: time.Second}, layout.Layout{}, 0)[0]
			keep := []string{naming.Escape(strings.TrimSuffix(own, "fw:0")) + "[fs]w:*", naming.Escape(k) + ":[0-9]*"}
			s.filters = append(s.filters, filter{match: "*" + naming.Escape(k) + "*", keep: keep})
		}
	}
	s.sweep.Patterns, s.sweep.Share = o.Patterns, o.Budget
	if len(s.filters) == 0 {
		s.sweep.Passes = 1
	}
	return s
}

// Found returns a channel that delivers a value after keys were found and after the first pass.
func (s *Scanner) Found() <-chan struct{} { return s.found }

// Run goes through the keyspace until ctx ends; a goroutine of the group examines the keys of Look.
func (s *Scanner) Run(ctx context.Context, beside *goroutine.Group) {
	beside.Go(func() { s.lookAtNamed(ctx) })
	if len(s.filters) == 0 {
		return
	}
	var err error // of the latest pass: one that failed has not seen what Unchanged compares with
	for {
		begun := time.Now()
		if err != nil || s.o.Unchanged == nil || !s.o.Unchanged() {
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
		if goroutine.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// pass goes through the whole keyspace once for every filter.
func (s *Scanner) pass(ctx context.Context) error {
	for s.o.Away() {
		if err := goroutine.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.pace.first = s.sweep.Passes == 0
	s.sweep.Scanned, s.sweep.Skipped, s.sweep.Sampled = 0, 0, 0
	long := func(since time.Time) bool { return time.Since(since) > askAgain }
	if len(s.seen) > seenMost || slices.ContainsFunc(slices.Collect(maps.Values(s.refused)), long) {
		clear(s.seen)
		clear(s.refused)
	}
	s.mu.Unlock()
	nodes, last := s.o.Nodes(ctx)
	if len(nodes) == 0 && last != nil {
		return last
	}
	pages := rate.NewLimiter(rate.Every(scanPause), scanAtOnce)
	total, missed := int64(0), 0
	errs := s.ask(ctx, nodes)
	for i, node := range nodes {
		err := errs[i]
		if err == nil {
			err = s.search(ctx, node, pages, &total)
		}
		if err != nil {
			last = err // continue with the keys of the other nodes
			missed++
		}
	}
	if missed > 0 && missed == len(nodes) {
		return last
	}
	s.mu.Lock()
	s.sweep.Passes++
	s.sweep.Missed = missed
	first := s.sweep.Passes == 1
	s.lacks = ""
	s.mu.Unlock()
	if first { // later passes are reported only with their finds
		s.found.Send()
	}
	return nil
}

// search goes through the keyspace of a node once for every filter, and adds its size to total.
func (s *Scanner) search(ctx context.Context, node redis.Cmdable, pages *rate.Limiter, total *int64) error {
	s.pace.forget()
	defer s.pace.forget()
	size := func(n int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*total += n
		s.sweep.Keys, s.sweep.Total = *total, *total*int64(len(s.filters))
	}
	for _, f := range s.filters {
		if err := s.scan(ctx, node, f, pages, size); err != nil {
			return err
		}
		size = nil // the first page brings it
	}
	return nil
}

// ask asks the nodes of a cluster at the same time whether they answer, so that none is waited for while others have keys.
func (s *Scanner) ask(ctx context.Context, nodes []*redis.Client) []error {
	errs := make([]error, len(nodes))
	if len(nodes) < 2 {
		return errs
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second+4*s.o.Trip())
	defer cancel()
	goroutine.AtOnce(len(nodes), func(i int) {
		if err := nodes[i].Ping(ctx).Err(); connect.Away(err) {
			errs[i] = err
		}
	})
	return errs
}

// wanted returns the keys of a page that match the filter's globs.
func (s *filter) wanted(keys []string) []string {
	if len(s.keep) == 0 {
		return keys
	}
	return slices.DeleteFunc(keys, func(k string) bool {
		return !slices.ContainsFunc(s.keep, func(p string) bool { return config.MatchGlob(p, k) })
	})
}

// looked returns how many keys of the keyspace one call of SCAN has covered: those that it
// returned, or about its COUNT if MATCH may have left some out.
func (s *filter) looked(returned, count int) int64 {
	if strings.Trim(s.match, "*") == "" {
		return int64(returned)
	}
	return int64(count)
}

// scan goes through the keyspace of a node once. The first page comes with the number of the node's keys, which size receives unless it
// is nil. The keys of looksAtOnce pages are examined while the next one is fetched.
func (s *Scanner) scan(ctx context.Context, node redis.Cmdable, f filter, pages *rate.Limiter, size func(int64)) (err error) {
	looks, ctx := goroutine.NewGroup(ctx)
	defer func() {
		if err := looks.Wait(); err != nil {
			panic(err)
		}
	}()
	examined := make(chan error, looksAtOnce)
	for range looksAtOnce {
		examined <- nil
	}
	for cursor, last := uint64(0), false; !last; {
		if err := goroutine.Sleep(ctx, pages.Reserve().Delay()); err != nil {
			return err
		}
		count, share := s.pace.pageSize(), s.pace.share()
		keys, next, err := s.page(ctx, node, cursor, f.match, count, size)
		if err = cmp.Or(err, <-examined); err != nil {
			return err
		}
		cursor, size, last = next, nil, next == 0
		looked := f.looked(len(keys), count)
		keys = f.wanted(keys)
		unknown := s.gather(keys, last)
		looks.Go(func() {
			err := context.Canceled // of a panic
			defer func() { examined <- err }()
			var spent time.Duration
			if spent, err = s.examine(ctx, unknown); err != nil {
				return
			}
			if spent += s.scanCost(count); s.o.Page != nil {
				spent += s.o.Page(ctx, node, keys)
			}
			pages.SetLimit(rate.Every(max(scanPause, time.Duration(float64(spent)/share))))
			s.mu.Lock()
			defer s.mu.Unlock()
			s.spent += spent
			if s.sweep.Scanned += looked; s.sweep.Total > 0 {
				s.sweep.Scanned = min(s.sweep.Scanned, s.sweep.Total)
			}
		})
	}
	for range looksAtOnce {
		err = cmp.Or(err, <-examined)
	}
	return err
}

// page returns the keys of one call of SCAN and the next cursor. size receives the number of the node's keys, unless it is nil.
func (s *Scanner) page(
	ctx context.Context, node redis.Cmdable, cursor uint64, match string, count int, size func(int64),
) ([]string, uint64, error) {
	pipe := node.Pipeline()
	load := s.pace.ask(ctx, pipe)
	var n *redis.IntCmd
	if size != nil {
		n = pipe.DBSize(ctx)
	}
	page := pipe.Scan(ctx, cursor, match, int64(count))
	_, _ = pipe.Exec(ctx) // each command holds its own error
	s.spend(s.pace.take(load))
	if size != nil && n.Err() == nil {
		size(n.Val())
	}
	return page.Result()
}

// Look has keys examined at once, even if they were examined before: they are written often,
// and SCAN may take long to reach them. It does not wait for the result.
func (s *Scanner) Look(keys ...string) {
	if len(keys) > 0 {
		s.named.Put(slices.Clone(keys))
	}
}

// lookAtNamed examines the keys of Look until ctx ends.
func (s *Scanner) lookAtNamed(ctx context.Context) {
	for {
		keys, err := s.named.Take(ctx)
		if err != nil {
			return
		}
		s.Forget(keys...)
		spent, _ := s.examine(ctx, s.sort(keys, true)) // keys that failed are examined when SCAN reaches them
		s.spend(spent)
	}
}
