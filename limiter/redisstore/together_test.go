package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
)

// twoLimits are asked about in one batch. One has no whole number of microseconds for each of its units.
var twoLimits = []limiter.Limit{{Count: 3, Window: 24 * time.Hour}, {Count: 7, Window: 23 * time.Hour}}

// TestTogether puts ten requests for each of ten keys under each of two limits into a batch. Those of a
// key are decided in their order, and the errors of a key with a foreign value are its own.
func TestTogether(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	for _, a := range limiter.Algorithms() {
		for name, opts := range map[string][]Option{
			"usual": nil, "denials": {WithDenials()}, "units": {WithLayout(layout.Layout{PerUnit: true})},
			"first": {WithConvention(limiter.Convention{Alignment: convention.FirstRequest})},
			"below": {WithConvention(limiter.Convention{Edge: convention.Closed, Rule: convention.Below, Denied: convention.Charged})},
		} {
			s, err := New(client, a, opts...)
			if errors.Is(err, limiter.ErrNotOnStore) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			s.server.known = nil // every key is known
			t.Run(a.String()+"/"+name, func(t *testing.T) { decidedTogether(t, s, client) })
		}
	}
}

func decidedTogether(t *testing.T, s *Store, client *redis.Client) {
	ctx := context.Background()
	b := s.server.client.(*batcher)
	b.together.state.Store(byDigest)
	client.ScriptFlush(ctx)
	for _, way := range []string{"unknown script", "with text", "by digest"} {
		client.FlushDB(ctx)
		putForeign(t, s, client)
		var batch []*call
		for i := range 200 {
			limit := twoLimits[i%2]
			p, err := s.check(ctx, "k", limit, 1)
			if err != nil {
				t.Fatal(err)
			}
			name := s.plan.named(fmt.Sprintf("%v user %d", limit.Window, i/2%10))
			batch = append(batch, &call{cmd: s.server.command(ctx, name, p, 1, charges)})
		}
		client.ConfigResetStat(ctx)
		_ = b.send(batch) // the first error of the commands
		if way == "unknown script" {
			if state := b.together.state.Load(); state != apart {
				t.Errorf("the server does not know the script, and may be another: state %d, want apart", state)
			}
			b.together.state.Store(withText)
		}
		stats := client.Info(ctx, "commandstats").Val()
		want := map[string]string{"unknown script": "cmdstat_evalsha:calls=14,", "with text": "cmdstat_eval:calls=14,", "by digest": "cmdstat_evalsha:calls=14,"}
		if !strings.Contains(stats, want[way]) {
			t.Errorf("%s: 200 decisions are not 14 calls:\n%s", way, stats)
		}
		for i, c := range batch {
			cmd := c.cmd.(*decisionCmd)
			switch {
			case way == "unknown script":
				if !strings.HasPrefix(fmt.Sprint(cmd.Err()), "NOSCRIPT") {
					t.Errorf("%s, call %d: %v", way, i, cmd.Err())
				}
			case i/2%10 == 5:
				if about := (subject{key: "k"}); !errors.Is(s.server.explainFailure(ctx, cmd.Err(), about), limiter.ErrWrongType) {
					t.Errorf("%s, call %d about a foreign value: %q, %v", way, i, cmd.Val(), cmd.Err())
				}
			default:
				p := s.plan.preparedOf(twoLimits[i%2])
				d, err := s.server.decode(ctx, subject{}, p, 1, false, cmd.Val())
				if before := int64(i / 20); cmd.Err() != nil || err != nil || d.Allowed != (before < p.limit.Count) || d.Allowed && d.Remaining != p.limit.Count-before-1 {
					t.Errorf("%s, request %d of a key: %+v, %v, %v", way, before+1, d, err, cmd.Err())
				}
			}
		}
	}
}

// TestGroupThatFails sends a batch of two groups that are not answered, or of which one has a key that the
// user may not touch. Without an answer it is not known of any decision whether it was made, and none is
// made twice; what was refused is decided by itself.
func TestGroupThatFails(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	server.CLI("ACL", "SETUSER", "limited", "on", ">x", "~ratelimit:a*", "+@all")
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "limited", Password: "x", ReadTimeout: 300 * time.Millisecond})
	t.Cleanup(func() { _ = client.Close() })
	s, err := New(client, limiter.GCRA)
	if err != nil {
		t.Fatal(err)
	}
	s.server.known = nil
	b := s.server.client.(*batcher)
	ask := func(state int32, last string) (errs []error) {
		b.together.state.Store(state)
		var batch []*call
		for i := range 32 {
			p, err := s.check(t.Context(), "k", twoLimits[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			name := "ratelimit:a"
			if i == 31 {
				name = last
			}
			batch = append(batch, &call{cmd: s.server.command(t.Context(), name, p, 1, charges)})
		}
		_ = b.send(batch)
		for _, c := range batch {
			errs = append(errs, c.cmd.Err())
		}
		return errs
	}
	used := func() int64 {
		d, err := s.Peek(t.Context(), "a", twoLimits[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		return d.Used
	}
	for i, err := range ask(withText, "ratelimit:b") {
		if (i < 16) != (err == nil) || err != nil && !errors.Is(err, errApart) {
			t.Errorf("decision %d beside a key that is refused: %v", i, err)
		}
	}
	if b.together.state.Load() != apart || used() != twoLimits[0].Count {
		t.Errorf("after a refusal: state %d, %d used", b.together.state.Load(), used())
	}
	server.CLI("FLUSHDB")
	server.Freeze()
	errs := ask(byDigest, "ratelimit:a")
	server.Thaw()
	for i, err := range errs {
		if !errors.Is(failure(err), limiter.ErrUnknownOutcome) {
			t.Errorf("decision %d of a server that stands still: %v, want an unknown outcome", i, err)
		}
	}
	servertest.Await(t, "what was sent to be decided", func() bool { return used() > 0 })
	if stats := server.Client().Info(t.Context(), "commandstats").Val(); !strings.Contains(stats, "cmdstat_evalsha:calls=2,") {
		t.Errorf("two groups without an answer were sent another number of times:\n%s", stats)
	}
}

// storeOf returns a Store in which every key is known, and a function that asks it for 32 decisions in one batch,
// each about a key of its own, whose name ends with its place.
func storeOf(t *testing.T, a limiter.Algorithm, options *redis.Options) (*Store, func(keys string) []error) {
	t.Helper()
	options.ReadTimeout, options.PoolSize = servertest.Patience, 1 // one connection, so that all go to one server
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	s, err := New(client, a)
	if err != nil {
		t.Fatal(err)
	}
	s.server.known = nil
	b := s.server.client.(*batcher)
	return s, func(keys string) (errs []error) {
		var batch []*call
		for i := range 32 {
			p, err := s.check(t.Context(), "k", twoLimits[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, &call{cmd: s.server.command(t.Context(), s.plan.named(fmt.Sprint(keys, i)), p, 1, charges)})
		}
		_ = b.send(batch)
		b.together.check(b.together.due(batch))
		for _, c := range batch {
			errs = append(errs, c.cmd.Err())
		}
		return errs
	}
}

// TestGroupOnAnotherServer changes what is behind an address where one server was. A group that another one
// gets is not decided there before it was checked again that this one has all keys.
func TestGroupOnAnotherServer(t *testing.T) {
	t.Parallel()
	old, successor := servertest.Start(t), servertest.Start(t)
	var addr atomic.Value
	addr.Store(old.Addr())
	s, ask := storeOf(t, limiter.GCRA, &redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("tcp", addr.Load().(string))
	}})
	killed := make(chan bool)
	for _, step := range []struct {
		what  string
		do    func()
		fails string // how errors begin
		state int32
	}{
		{"by themselves", func() {}, "NOSCRIPT", withText},
		{"with text", func() {}, "", byDigest},
		{"on a replica", func() {
			old.CLI("REPLICAOF", "127.0.0.1", fmt.Sprint(successor.Port))
			addr.Store(successor.Addr())
		}, "READONLY", byDigest},
		{"on its successor, by a new connection", func() {}, "NOSCRIPT", withText},
		{"with text again", func() {}, "", byDigest},
		{"on a server that stands still and is killed", func() {
			successor.Freeze()
			go func() { successor.Kill(); close(killed) }()
		}, "unanswered", byDigest},
		{"restarted", func() { <-killed; successor.Start() }, "NOSCRIPT", withText},
		{"with text after the restart", func() {}, "", byDigest},
		{"killed again", successor.Kill, "unanswered", byDigest},
		{"behind a proxy", func() { addr.Store(spread(t, true, servertest.Start(t), servertest.Start(t))) }, "NOSCRIPT", never},
		{"behind a proxy, by themselves", func() {}, "NOSCRIPT", never},
	} {
		step.do()
		for i, err := range ask(step.what) {
			var refused redis.Error
			switch {
			case step.fails == "unanswered" && (err == nil || errors.As(err, &refused)):
				t.Errorf("%s, decision %d: %v, want no answer", step.what, i, err)
			case step.fails != "unanswered" && !strings.HasPrefix(fmt.Sprint(err), cmp.Or(step.fails, "<nil>")):
				t.Errorf("%s, decision %d: %v, want %q", step.what, i, err, step.fails)
			}
		}
		if state := s.server.client.(*batcher).together.state.Load(); state != step.state {
			t.Errorf("%s: state %d, want %d", step.what, state, step.state)
		}
	}
}

// TestBatchOfRefusedUser sends batches by a client that the server refuses before it reads them. Each decision has
// its error.
func TestBatchOfRefusedUser(t *testing.T) {
	t.Parallel()
	s, ask := storeOf(t, limiter.GCRA, &redis.Options{Addr: servertest.Start(t).Addr(), Username: "nobody", Password: "x"})
	for _, state := range []int32{apart, byDigest} {
		s.server.client.(*batcher).together.state.Store(state)
		for i, err := range ask("a") {
			if !strings.HasPrefix(fmt.Sprint(err), "WRONGPASS") {
				t.Fatalf("state %d, decision %d: %v", state, i, err)
			}
		}
	}
}

// TestProxyOfKnownScripts puts a proxy in the place of a server whose scripts all its servers know. No reply tells
// it, so that groups are sent on to the server of their first key, until the next check.
func TestProxyOfKnownScripts(t *testing.T) {
	t.Parallel()
	var servers []*servertest.Server
	var addr atomic.Value
	var s *Store
	var ask func(string) []error
	for range 2 { // the Store of the second one stays
		server := servertest.Start(t)
		servers = append(servers, server)
		addr.Store(server.Addr())
		s, ask = storeOf(t, limiter.GCRA, &redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", addr.Load().(string))
		}})
		ask("first")
		if err := errors.Join(ask("with text")...); err != nil {
			t.Fatal(err)
		}
	}
	s.server.client.(*batcher).together.batches.Store(checkEvery + 1) // after which it is long until the next check
	addr.Store(spread(t, true, servers...))
	servers[1].CLI("CLIENT", "KILL", "TYPE", "normal")
	ask("on the connection that has ended, or a new one")
	state := &s.server.client.(*batcher).together.state
	if err := errors.Join(ask("together")...); err != nil || state.Load() != byDigest {
		t.Errorf("before the check: %v, state %d", err, state.Load())
	}
	s.server.client.(*batcher).together.batches.Store(checkEvery)
	if err := errors.Join(ask("together, and checked")...); err != nil || state.Load() != never {
		t.Errorf("after the check: %v, state %d, want never", err, state.Load())
	}
}

// TestGroupWithoutMemory asks a server that may keep no more. A decision that it refuses has charged
// nothing, and one that it makes has charged its cost, whatever became of the others.
func TestGroupWithoutMemory(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	for _, a := range limiter.Algorithms() {
		s, ask := storeOf(t, a, &redis.Options{Addr: server.Addr()})
		server.CLI("FLUSHALL")
		ask("first")
		for i := range 8 { // of every fourth key, as many as are admitted
			for range twoLimits[0].Count {
				if _, err := s.AllowN(t.Context(), fmt.Sprint("a", 4*i), twoLimits[0], 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		server.CLI("CONFIG", "SET", "maxmemory", "1")
		errs, refused := ask("a"), 0
		server.CLI("CONFIG", "SET", "maxmemory", "0")
		for i, err := range errs {
			want := int64(0)
			switch {
			case i%4 == 0:
				want = twoLimits[0].Count
			case err == nil:
				want = 1
			}
			if err != nil && !strings.HasPrefix(err.Error(), "OOM ") {
				t.Errorf("%s, decision %d: %v", a, i, err)
			} else if err != nil {
				refused++
			}
			if d, err := s.Peek(t.Context(), fmt.Sprint("a", i), twoLimits[0], 0); err != nil || d.Used != want {
				t.Errorf("%s, decision %d: %d used, %v, want %d", a, i, d.Used, err, want)
			}
		}
		if a != limiter.SlidingLog && refused < 24 { // whose first command needs no memory, after which a script may go on
			t.Errorf("%s: %d decisions were refused, want those about 24 new keys", a, refused)
		}
		if state := s.server.client.(*batcher).together.state.Load(); state != byDigest {
			t.Errorf("%s: state %d: the decisions were not made together", a, state)
		}
	}
}

// putForeign puts a list where the state of a key under each limit would be.
func putForeign(t *testing.T, s *Store, client *redis.Client) {
	t.Helper()
	for _, limit := range twoLimits {
		name := s.plan.named(fmt.Sprintf("%v user 5", limit.Window))
		now, err := s.server.now(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range s.plan.keys(name, limit, now) {
			client.LPush(context.Background(), k.name, "x")
		}
	}
}

// TestKeysOfOneServer decides under load about twelve keys. Where one server has all of them decisions go
// together, else never: their keys would be looked for on the wrong one.
func TestKeysOfOneServer(t *testing.T) {
	t.Parallel()
	plain := servertest.Start(t)
	plain.CLI("ACL", "SETUSER", "limited", "on", ">x", "~ratelimit:*", "+@all", "-info")
	plain.CLI("ACL", "SETUSER", "few-keys", "on", ">x", "~ratelimit:a?user?of*", "+@all")
	for name, c := range map[string]struct {
		options  redis.Options
		together bool
	}{
		"a server":           {redis.Options{Addr: plain.Addr()}, true},
		"a proxy of one":     {redis.Options{Addr: spread(t, true, plain)}, true},
		"a proxy, no INFO":   {redis.Options{Addr: spread(t, false, plain)}, false},
		"a proxy of two":     {redis.Options{Addr: spread(t, true, servertest.Start(t), servertest.Start(t))}, false},
		"a proxy by names":   {redis.Options{Addr: spreadBy(t, byBeginning, true, servertest.Start(t), servertest.Start(t))}, false},
		"a node":             {redis.Options{Addr: servertest.StartCluster(t, 1)[0].Addr()}, false},
		"a user, no INFO":    {redis.Options{Addr: plain.Addr(), Username: "limited", Password: "x"}, false},
		"a user of few keys": {redis.Options{Addr: plain.Addr(), Username: "few-keys", Password: "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redis.NewClient(&c.options)
			t.Cleanup(func() { _ = client.Close() })
			s, err := New(client, limiter.GCRA)
			if err != nil {
				t.Fatal(err)
			}
			late := strings.HasSuffix(name, "by names") // noticed when each of two servers may have admitted a limit
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for g := range 64 {
				wg.Go(func() {
					for i := range 60 {
						key := fmt.Sprint(name, (g+i)%12)
						if late {
							key = fmt.Sprint((g+i)%12, name)
						}
						d, err := s.AllowN(t.Context(), key, limiter.Limit{Count: 100, Window: 24 * time.Hour}, 1)
						if err != nil {
							t.Error(err)
							return
						}
						if d.Allowed {
							admitted.Add(1)
						}
					}
				})
			}
			wg.Wait()
			state := s.server.client.(*batcher).together.state.Load()
			if together := state == byDigest || state == withText; together != c.together || admitted.Load() != 1200 && (!late || admitted.Load() > 2400) {
				t.Errorf("together: %v, want %v; %d admitted, want 1200", together, c.together, admitted.Load())
			}
		})
	}
	own := plain.Client()
	t.Cleanup(func() { // after all of them
		if refusals := own.ACLLog(context.Background(), 100).Val(); len(refusals) != 3 {
			t.Errorf("%d entries in the log of refusals, want two for INFO, by itself and in a script, and one for the keys", len(refusals))
		}
	})
}
