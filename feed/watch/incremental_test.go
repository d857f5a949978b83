package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// TestLogFollowsEverything does to a sorted set what writers do (append, come late, share
// a score, remove, trim, delete) and compares every quiet moment with the server.
func TestLogFollowsEverything(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	const w = 10 * time.Second
	rule := config.Rule{Match: "log", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 1000, Window: w}, LimitKnown: true}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"log"}, Rules: []config.Rule{rule}, Refresh: 20 * time.Millisecond})
	run := feedtest.Run(t, r)
	rng := rand.New(rand.NewPCG(1, 2))
	added := int64(0)
	member := 0
	// Members carry no time, so that scores are read.
	add := func(at limiter.Instant) {
		member++
		c.ZAdd(ctx, "log", redis.Z{Score: float64(at) / 1e3, Member: "m" + strconv.Itoa(member)})
		added++
	}
	now := func() limiter.Instant { return limiter.InstantOf(c.Time(ctx).Val()) }
	for step := range 60 {
		switch k := rng.IntN(10); {
		case k < 5:
			for range 1 + rng.IntN(20) {
				add(now())
			}
		case k < 7: // a late writer
			add(now().Add(-time.Duration(rng.IntN(1500)) * time.Millisecond))
		case k < 8: // several at one score
			at := now().Floor(time.Millisecond)
			for range 5 {
				add(at)
			}
		case k < 9:
			c.ZRemRangeByScore(ctx, "log", "-inf", strconv.FormatInt(now().Add(-w).Millis(), 10))
		default:
			c.ZPopMax(ctx, "log", 2)
		}
		if step == 40 {
			c.Del(ctx, "log")
		}
		want := int64(-1)
		servertest.Await(t, fmt.Sprintf("step %d: the reading to agree with ZCOUNT", step), func() bool {
			x, ok := run.Reading("log")
			if !ok {
				return false
			}
			from := strconv.FormatFloat(float64(x.At.Add(-w))/1e3, 'f', -1, 64)
			want = c.ZCount(ctx, "log", "("+from, "+inf").Val()
			return feedtest.Used(x) == want
		})
	}
	// Every member that was there at a reading was told once; those popped in between two
	// readings never were.
	if told := run.Came("log", false); told > added || told < added*8/10 {
		t.Errorf("%d members were told and %d added", told, added)
	}
}

// TestTellsEachMemberOnce adds only, in three paces, and wants every unit told once.
func TestTellsEachMemberOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	rules := []config.Rule{{Match: "*", Limit: limiter.Limit{Count: 1_000_000_000, Window: 30 * time.Second}, LimitKnown: true}}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"z", "own", "st", "plain"}, Rules: rules, Refresh: 20 * time.Millisecond})
	run := feedtest.Run(t, r)
	servertest.Await(t, "a first reading", func() bool { _, ok := run.Reading("z"); return ok })
	own, err := redisstore.New(c, limiter.SlidingLog, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := redisstore.New(c, limiter.StreamCounter, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 1_000_000_000, Window: 30 * time.Second}
	n := int64(0)
	send := func(many int) { // at the server and in one go: what comes late is another test's
		if err := c.Eval(ctx, `local t = redis.call('TIME')
			for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do
				redis.call('ZADD', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000), i)
				redis.call('XADD', KEYS[2], '*', 'count', '2')
			end return 1`, []string{"z", "plain"}, n, many).Err(); err != nil {
			t.Fatal(err)
		}
		n += int64(many)
		for _, l := range []struct {
			l *redisstore.Store
			k string
		}{{own, "own"}, {stream, "st"}} {
			if _, err := l.l.AllowN(ctx, l.k, limit, int64(many)); err != nil {
				t.Fatal(err)
			}
		}
	}
	batches := func(more int) { // waits for so many
		least := run.Count() + more
		servertest.Await(t, "more batches", func() bool { return run.Count() >= least })
	}
	for i := range 40 {
		send(3)
		batches(i % 2)
	}
	for i := range 5 { // far more than is fetched one by one
		send(3000)
		batches(i % 2)
	}
	for range 20 {
		send(2)
		batches(1)
	}
	for key, want := range map[string]int64{"z": n, "own": n, "st": n, "plain": 2 * n} {
		servertest.Await(t, "everything of "+key+" to be told", func() bool { return run.Came(key, false) >= want })
		batches(3) // which tell nothing twice
		if told := run.Came(key, false); told != want {
			t.Errorf("%s: %d units were told, want %d", key, told, want)
		}
		x, _ := run.Reading(key)
		t.Logf("%s: %d entries in the log, used %d, approximate %v, notes %v", key, len(x.State.Log), feedtest.Used(x), x.Approximate, x.Notes)
	}
}

// TestHotKeysAreCounted writes so fast that entries cannot be fetched, and compares the
// counts and the work with the server.
func TestHotKeysAreCounted(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	const w = 30 * time.Second
	rules := []config.Rule{{Match: "*", Limit: limiter.Limit{Count: 1_000_000_000, Window: w}, LimitKnown: true}}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"hot"}, Rules: rules, Refresh: 50 * time.Millisecond})
	// A full window before the first look.
	now := s.Now()
	p := c.Pipeline()
	for i := range 60_000 {
		at := now.Add(-time.Duration(i) * w / 60_000)
		p.ZAdd(ctx, "hot", redis.Z{Score: float64(at), Member: i})
	}
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	run := feedtest.Run(t, r)
	servertest.Await(t, "the key to be read as counts", func() bool { x, ok := run.Reading("hot"); return ok && x.Approximate })
	x, _ := run.Reading("hot")
	want := c.ZCount(ctx, "hot", strconv.FormatInt(int64(x.At.Add(-w)), 10), "+inf").Val()
	if got := feedtest.Used(x); got < want*98/100 || got > want*102/100 {
		t.Errorf("used %d, and the server counts %d", got, want)
	}
	if len(x.State.Log) > 2*model.BinsPerWindow+2 {
		t.Errorf("the reading's log has %d entries, want at most one for each bin", len(x.State.Log))
	}
	for _, b := range run.All() {
		if n := len(b.Readings); n > 1 {
			t.Errorf("a batch has %d readings, want 1", n)
		}
	}
	t.Logf("%d told of %d", run.Came("hot", false), want)
	servertest.Await(t, "a cheap batch", func() bool { c := run.Last().Cost; return c.Commands > 0 && c.Commands < 40 })
	// When it calms down, it is read entry by entry again.
	c.Del(ctx, "hot")
	servertest.Await(t, "the key to be read entry by entry", func() bool {
		c.ZAdd(ctx, "hot", redis.Z{Score: float64(time.Now().UnixMicro()), Member: rand.Int64()})
		x, _ := run.Reading("hot")
		return !x.Approximate && len(x.State.Log) > 0
	})
}

// TestCountersRollOver increments counters of one-second windows until several windows have
// begun, each time after the last increment was read. Every increment of a sliding window must be reported once. A fixed
// window's counter expires at the end of its window, so that of each window every increment up to its last
// reading must be reported, and none twice.
func TestCountersRollOver(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	limit := limiter.Limit{Count: 1 << 30, Window: time.Second}
	rules := []config.Rule{{Match: "fw", Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true}, {Match: "sw", Algorithm: limiter.SlidingWindow, Limit: limit, LimitKnown: true}}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"fw", "sw"}, Rules: rules, Refresh: 20 * time.Millisecond})
	run := feedtest.Run(t, r)
	fixed, _ := redisstore.New(c, limiter.FixedWindow, redisstore.WithPrefix(""))
	sliding, _ := redisstore.New(c, limiter.SlidingWindow, redisstore.WithPrefix(""))
	servertest.Await(t, "a first reading of both", func() bool {
		_, fw := run.Reading("fw")
		_, sw := run.Reading("sw")
		return fw && sw
	})
	n := int64(0)
	servertest.Await(t, "readings of four windows, with the one before, and of all increments", func() bool {
		if run.Came("sw", false) < n {
			return false
		}
		for l, k := range map[*redisstore.Store]string{fixed: "fw", sliding: "sw"} {
			if _, err := l.AllowN(ctx, k, limit, 1); err != nil {
				t.Fatal(err)
			}
		}
		n++
		all := run.All()
		_, fw := windowsRead(all, "fw")
		_, sw := windowsRead(all, "sw")
		return fw >= 3 && sw >= 3
	})
	servertest.Await(t, "all to be told", func() bool { return run.Came("sw", false) == n })
	read, _ := windowsRead(run.All(), "fw")
	if told := run.Came("fw", false); told < read || told > n {
		t.Errorf("fw: %d increments were reported, want at least the %d that were read and at most %d", told, read, n)
	}
}

// windowsRead returns the counts of all windows of a key, each as of its last reading, and how
// many windows a reading has shown with the count of the window before.
func windowsRead(all []model.Batch, key string) (sum int64, withPrevious int) {
	counts := make(map[limiter.Instant]int64)
	followed := make(map[limiter.Instant]bool)
	for _, b := range all {
		for _, x := range b.Readings {
			if x.Key != key {
				continue
			}
			st := &x.State
			counts[st.Start] = max(counts[st.Start], st.Current)
			counts[st.PreviousStart] = max(counts[st.PreviousStart], st.Previous)
			if x.PreviousKnown && st.Previous > 0 {
				followed[st.Start] = true
			}
		}
	}
	for _, n := range counts {
		sum += n
	}
	return sum, len(followed)
}
