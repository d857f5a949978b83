package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

// yearly is a limit for tests on the server's own clock: of so long a window no edge comes, and nothing
// leaves it or comes back, while a test runs on a machine that may stand still.
var yearly = limiter.Limit{Count: 5, Window: limiter.MaxWindow}

func newStore(t testing.TB, c redisstore.Client, a limiter.Algorithm, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	l, err := redisstore.New(c, a, append([]redisstore.Option{redisstore.WithPrefix("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newMemory(t testing.TB, a limiter.Algorithm, opts ...limiter.Option) *limiter.Memory {
	t.Helper()
	m, err := limiter.NewMemory(a, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func allow(t testing.TB, l limiter.Limiter, key string, limit limiter.Limit, n int64) limiter.Decision {
	t.Helper()
	d, err := l.AllowN(context.Background(), key, limit, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDenialsAreRecorded(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a, redisstore.WithDenials())
		key := "denied:" + a.String()
		for range 5 {
			allow(t, l, key, yearly, 1)
		}
		if n := client.Exists(ctx, layout.DeniedKey(key)).Val(); n != 0 {
			t.Errorf("%s: a denial was recorded before there was one", a)
		}
		for range 3 {
			allow(t, l, key, yearly, 2)
		}
		if _, err := l.Peek(ctx, key, yearly, 1); err != nil {
			t.Fatal(err)
		}
		allow(t, l, key, yearly, 6)
		entries := client.XRange(ctx, layout.DeniedKey(key), "-", "+").Val()
		var got []string
		for _, e := range entries {
			got = append(got, e.Values["count"].(string)+"/"+e.Values["total"].(string))
		}
		if want := "2/2 2/4 2/6 6/12"; strings.Join(got, " ") != want {
			t.Errorf("%s: recorded %v, want %s", a, got, want)
		}
		if ttl := client.PTTL(ctx, layout.DeniedKey(key)).Val(); ttl <= yearly.Window || ttl > 2*yearly.Window {
			t.Errorf("%s: denials are kept for %v, want two windows", a, ttl)
		}
	}
}

// TestDenialsBeginAnew lets the total of a key's denials grow beyond what the id of an entry can hold.
func TestDenialsBeginAnew(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	l := newStore(t, client, limiter.GCRA, redisstore.WithDenials())
	for range 1001 {
		if d := allow(t, l, "k", yearly, limiter.MaxCount); d.Allowed {
			t.Fatalf("%+v", d)
		}
	}
	entries := client.XRange(context.Background(), layout.DeniedKey("k"), "-", "+").Val()
	if want := strconv.FormatInt(2*limiter.MaxCount, 10); len(entries) != 2 || entries[1].Values["total"] != want {
		t.Errorf("recorded %d: %+v, want two and the total %s", len(entries), entries[max(len(entries)-3, 0):], want)
	}
}

// TestPeekWritesNothing compares the whole server before and after, lives included.
func TestPeekWritesNothing(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a, redisstore.WithDenials(), redisstore.WithConvention(limiter.Convention{Block: time.Hour}))
		for _, n := range []int64{0, 1, 5, 6} {
			if _, err := l.Peek(ctx, "new:"+a.String(), yearly, n); err != nil {
				t.Fatal(err)
			}
			allow(t, l, "new:"+a.String(), yearly, 0)
		}
		for range 6 {
			allow(t, l, "used:"+a.String(), yearly, 1)
		}
	}
	if keys := client.Keys(ctx, "*new:*").Val(); len(keys) > 0 {
		t.Errorf("peeks made keys: %q", keys)
	}
	before := dump(t, client)
	time.Sleep(3 * time.Millisecond) // an expiry that was set anew would be later by this
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a)
		if _, err := l.Peek(ctx, "used:"+a.String(), yearly, 1); err != nil {
			t.Fatal(err)
		}
	}
	if after := dump(t, client); after != before {
		t.Errorf("peeks changed the server:\n%s\nbefore:\n%s", after, before)
	}
	stats := client.Info(ctx, "commandstats").Val()
	if !strings.Contains(stats, "evalsha_ro") {
		t.Error("peeks did not run as read-only scripts")
	}
}

func dump(t *testing.T, client *redis.Client) string {
	t.Helper()
	ctx := context.Background()
	var b strings.Builder
	all := client.Keys(ctx, "*").Val()
	slices.Sort(all)
	for _, k := range all {
		b.WriteString(strconv.Quote(k) + " " + strconv.FormatInt(int64(client.PExpireTime(ctx, k).Val()), 10) + " " + strconv.Quote(client.Dump(ctx, k).Val()) + "\n")
	}
	return b.String()
}

func TestScriptsSurviveFlush(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a)
		allow(t, l, "flush", yearly, 1)
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if d := allow(t, l, "flush", yearly, 1); d.Used != 2 {
			t.Errorf("%s: used %d after the scripts were flushed, want 2", a, d.Used)
		}
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Peek(ctx, "flush", yearly, 1); err != nil || d.Used != 2 {
			t.Errorf("%s: peek after the scripts were flushed: %+v, %v", a, d, err)
		}
		client.FlushAll(ctx)
	}
}

// TestWrongType puts a list in the place of each key that a decision may touch: the error
// names it and its type, and the server is as it was, whatever was read before.
func TestWrongType(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, v := range variants() {
		blocks := v.c.Block > 0
		l := newStore(t, client, v.algorithm, v.options(redisstore.WithDenials())...)
		now := limiter.InstantOf(client.Time(ctx).Val())
		names := layout.Keys(v.algorithm, "wrong", yearly, layout.Layout{}, now)[:1]
		switch {
		case v.c.Alignment == convention.FirstRequest:
			names = []string{"wrong"}
		case v.algorithm == limiter.FixedWindow: // which looks for the window after this one
			names = append(names, layout.Keys(v.algorithm, "wrong", yearly, layout.Layout{}, now.Add(yearly.Window))...)
		}
		if blocks {
			names = append(names, layout.BlockedKey("wrong"))
		}
		names = append(names, layout.DeniedKey("wrong"))
		for _, name := range names {
			client.FlushAll(ctx)
			client.RPush(ctx, name, "a", "b")
			if name == layout.DeniedKey("wrong") {
				allow(t, l, "wrong", yearly, 5)
			}
			before := dump(t, client)
			_, err := l.AllowN(ctx, "wrong", yearly, 1)
			var wrong *redisstore.WrongTypeError
			if !errors.Is(err, limiter.ErrWrongType) || !errors.As(err, &wrong) || wrong.Key != name || wrong.Type != "list" {
				t.Errorf("%s: a list at %q: %v", v.name, name, err)
			}
			if after := dump(t, client); after != before {
				t.Errorf("%s: a list at %q: the server was changed:\n%s\nbefore:\n%s", v.name, name, after, before)
			}
		}
	}
	client.FlushAll(ctx)
	now := limiter.InstantOf(client.Time(ctx).Val())
	client.Set(ctx, layout.Keys(limiter.FixedWindow, "text", yearly, layout.Layout{}, now)[0], "many", 0)
	if _, err := newStore(t, client, limiter.FixedWindow).AllowN(ctx, "text", yearly, 1); !errors.Is(err, limiter.ErrWrongType) {
		t.Errorf("a counter that is not a number: %v", err)
	}
}

// TestWrongTypeAmongSeveral: when one of several limits cannot be read none is charged.
func TestWrongTypeAmongSeveral(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a)
		for i := range lasting {
			client.FlushAll(ctx)
			if _, err := l.AllowKeys(ctx, 1, limiter.OnKey("several", lasting...)...); err != nil {
				t.Fatal(err)
			}
			parts := client.Keys(ctx, "*several*").Val()
			slices.SortFunc(parts, func(x, y string) int { return len(x) - len(y) })
			part := parts[i]
			client.Del(ctx, part)
			client.RPush(ctx, part, "a")
			before := dump(t, client)
			var wrong *redisstore.WrongTypeError
			if _, err := l.AllowKeys(ctx, 1, limiter.OnKey("several", lasting...)...); !errors.As(err, &wrong) || wrong.Key != part || wrong.Type != "list" {
				t.Errorf("%s: a list at %q: %v", a, part, err)
			}
			if after := dump(t, client); after != before {
				t.Errorf("%s: a list at %q: the server was changed:\n%s\nbefore:\n%s", a, part, after, before)
			}
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	_, err := newStore(t, client, limiter.GCRA).AllowN(context.Background(), "k", yearly, 1)
	if err == nil || errors.Is(err, limiter.ErrUnknownOutcome) {
		t.Errorf("%v: a request that was never sent has a known outcome", err)
	}
}

// TestServerClock runs the scripts as they are in use, on the server's own clock, where
// the fixed window charges before it knows: what is denied must leave no trace.
func TestServerClock(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	limit := yearly
	for _, c := range []limiter.Convention{{}, {Rule: convention.Below}, {Denied: convention.Charged}, {Alignment: convention.FirstRequest}} {
		for _, a := range limiter.Algorithms() {
			if a == limiter.SlidingWindow && c.Alignment == convention.FirstRequest {
				continue
			}
			client.FlushAll(ctx)
			l := newStore(t, client, a, redisstore.WithConvention(c))
			if d := allow(t, l, "k", limit, 6); d.Allowed || d.RetryAfter != limiter.Never || client.DBSize(ctx).Val() != 0 {
				t.Errorf("%s %+v: a cost above the limit: %+v, and %d keys", a, c, d, client.DBSize(ctx).Val())
			}
			for i := int64(1); i <= 5; i++ {
				if d := allow(t, l, "k", limit, 1); !d.Allowed || d.Used != i || d.Remaining != 5-i {
					t.Errorf("%s %+v: request %d: %+v", a, c, i, d)
				}
			}
			before := dump(t, client)
			d := allow(t, l, "k", limit, 1)
			// A weighted counter that was charged beyond its limit frees a slot only in the
			// course of the next window.
			if d.Allowed || d.RetryAfter <= 0 || d.RetryAfter > 2*limit.Window {
				t.Errorf("%s %+v: one too many: %+v", a, c, d)
			}
			if charged := c.Denied == convention.Charged && d.Used == 6; !charged && dump(t, client) != before {
				t.Errorf("%s %+v: a denied request changed the server", a, c)
			}
			for _, k := range client.Keys(ctx, "*").Val() {
				if ttl := client.PTTL(ctx, k).Val(); ttl <= 0 || ttl > 2*limit.Window {
					t.Errorf("%s: %q lives for %v", a, k, ttl)
				}
			}
			if d, err := l.Refund(ctx, "k", limit, 2); err != nil || d.Used >= 5 && c.Denied == convention.Free {
				t.Errorf("%s %+v: after a refund: %+v, %v", a, c, d, err)
			}
			if err := l.Reset(ctx, "k", limit); err != nil || client.DBSize(ctx).Val() != 0 {
				t.Errorf("%s: reset left %q, %v", a, client.Keys(ctx, "*").Val(), err)
			}
		}
	}
}

// TestFirstRequestAges follows a window that begins with its first request by moving the
// expiry that ends it, as time would.
func TestFirstRequestAges(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	l := newStore(t, client, limiter.FixedWindow, redisstore.WithConvention(limiter.Convention{Alignment: convention.FirstRequest}))
	allow(t, l, "k", yearly, 5)
	client.PExpire(ctx, "k", time.Hour)
	end := limiter.Instant(client.PExpireTime(ctx, "k").Val().Microseconds())
	d := allow(t, l, "k", yearly, 1)
	const stood = time.Second // Redis 7.0 reads its clock for TIME and again for PTTL, and may stand still between them
	if d.Allowed || (d.At.Add(d.RetryAfter).Sub(end)).Abs() > stood || d.End.Sub(end).Abs() > stood {
		t.Errorf("before the end at %d: %+v", end, d)
	}
	client.Del(ctx, "k")
	if d := allow(t, l, "k", yearly, 1); !d.Allowed || d.ResetAfter < yearly.Window-time.Second {
		t.Errorf("after the end: %+v", d)
	}
	client.Persist(ctx, "k")
	before := dump(t, client)
	if _, err := l.AllowN(ctx, "k", yearly, 1); !errors.Is(err, limiter.ErrWrongType) || dump(t, client) != before {
		t.Errorf("a counter without an expiry, which is not one of ours: %v", err)
	}
}

// TestClockAhead finds a counter in the window after this one, as it is after the clock
// jumped back, and goes on counting there.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	limit := yearly
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
		later := limiter.InstantOf(client.Time(ctx).Val()).Add(limit.Window)
		name := layout.Keys(a, "k", limit, layout.Layout{}, later)[0]
		client.Set(ctx, name, 4, 2*limit.Window)
		l := newStore(t, client, a)
		if d := allow(t, l, "k", limit, 1); !d.Allowed || d.Used != 5 || d.Start != later.Floor(limit.Window) {
			t.Errorf("%s: %+v", a, d)
		}
		if d := allow(t, l, "k", limit, 1); d.Allowed || d.RetryAfter < limit.Window {
			t.Errorf("%s: %+v", a, d)
		}
		if n := client.DBSize(ctx).Val(); n != 1 {
			t.Errorf("%s: %d keys, want the later counter alone", a, n)
		}
		client.FlushAll(ctx)
	}
}

// oldServer answers as a server from before EVALSHA_RO does.
type oldServer struct {
	redisstore.Client
	refused int
}

func (o *oldServer) Process(ctx context.Context, cmd redis.Cmder) error {
	if strings.HasSuffix(cmd.Name(), "_ro") {
		o.refused++
		err := errors.New("ERR unknown command 'evalsha_ro'")
		cmd.SetErr(err)
		return err
	}
	return o.Client.Process(ctx, cmd)
}

// outdated answers scripts as Redis 6.0 does, whose XREVRANGE knows no open range.
type outdated struct{}

func (outdated) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.SetErr(errors.New("ERR Invalid stream ID specified as stream command argument"))
	return cmd.Err()
}

func TestStreamOnOldServer(t *testing.T) {
	t.Parallel()
	l := newStore(t, outdated{}, limiter.StreamCounter)
	if _, err := l.AllowN(context.Background(), "k", yearly, 1); !errors.Is(err, limiter.ErrNotOnStore) || !strings.Contains(err.Error(), "6.2") {
		t.Errorf("a stream on an old server: %v", err)
	}
}

func TestPeekOnOldServer(t *testing.T) {
	t.Parallel()
	old := &oldServer{Client: servertest.Client(t)}
	l := newStore(t, old, limiter.GCRA)
	for range 3 {
		if d, err := l.Peek(context.Background(), "k", yearly, 1); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if old.refused != 1 {
		t.Errorf("the server was asked %d times for what it does not know", old.refused)
	}
}
