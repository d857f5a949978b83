package limiter_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

var minute = limiter.Limit{Count: 5, Window: time.Minute}

func newRedis(t testing.TB, c limiter.Scripter, a limiter.Algorithm, opts ...limiter.Option) *limiter.Redis {
	t.Helper()
	l, err := limiter.NewRedis(c, a, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func allow(t testing.TB, l limiter.Limiter, key string, limit limiter.Limit, n int64) limiter.Decision {
	t.Helper()
	d, err := l.AllowN(context.Background(), key, limit, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestManyClients is the promise as a whole: however many clients ask at once, the limit
// is admitted and not one more.
func TestManyClients(t *testing.T) {
	address := limitertest.Address(t)
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			limit := limiter.Limit{Count: 100, Window: 10 * time.Minute}
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				client := redis.NewClient(&redis.Options{Addr: address})
				t.Cleanup(func() { _ = client.Close() })
				l := newRedis(t, client, a)
				for range 7 {
					wg.Go(func() {
						for range 30 {
							d, err := l.AllowN(context.Background(), "shared:"+a.String(), limit, 1)
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
			}
			wg.Wait()
			// Between the first request and the last the spreading algorithms may have come
			// back by what that time is worth, which is under one unit at a unit in 6 s.
			if got := admitted.Load(); got != 100 {
				t.Errorf("%d admitted, want 100", got)
			}
		})
	}
}

func TestDenialsAreRecorded(t *testing.T) {
	client := limitertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newRedis(t, client, a, limiter.WithDenials())
		key := "denied:" + a.String()
		for range 5 {
			allow(t, l, key, minute, 1)
		}
		if n := client.Exists(ctx, limiter.DeniedKey(key)).Val(); n != 0 {
			t.Errorf("%s: a denial was recorded before there was one", a)
		}
		for range 3 {
			allow(t, l, key, minute, 2)
		}
		if _, err := l.Peek(ctx, key, minute, 1); err != nil {
			t.Fatal(err)
		}
		allow(t, l, key, minute, 6)
		entries := client.XRange(ctx, limiter.DeniedKey(key), "-", "+").Val()
		var got []string
		for _, e := range entries {
			got = append(got, e.Values["count"].(string)+"/"+e.Values["total"].(string))
		}
		if want := "2/2 2/4 2/6 6/12"; strings.Join(got, " ") != want {
			t.Errorf("%s: recorded %v, want %s", a, got, want)
		}
		if ttl := client.PTTL(ctx, limiter.DeniedKey(key)).Val(); ttl <= time.Minute || ttl > 2*time.Minute {
			t.Errorf("%s: denials are kept for %v, want two windows", a, ttl)
		}
	}
}

// TestPeekWritesNothing compares the whole server before and after, lives included.
func TestPeekWritesNothing(t *testing.T) {
	client := limitertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newRedis(t, client, a, limiter.WithDenials(), limiter.WithConvention(limiter.Convention{Block: time.Hour}))
		for _, n := range []int64{0, 1, 5, 6} {
			if _, err := l.Peek(ctx, "new:"+a.String(), minute, n); err != nil {
				t.Fatal(err)
			}
			allow(t, l, "new:"+a.String(), minute, 0)
		}
		for range 6 {
			allow(t, l, "used:"+a.String(), minute, 1)
		}
	}
	if keys := client.Keys(ctx, "*new:*").Val(); len(keys) > 0 {
		t.Errorf("peeks made keys: %q", keys)
	}
	before := dump(t, client)
	time.Sleep(3 * time.Millisecond) // an expiry that was set anew would be later by this
	for _, a := range limiter.Algorithms() {
		l := newRedis(t, client, a)
		if _, err := l.Peek(ctx, "used:"+a.String(), minute, 1); err != nil {
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
	client := limitertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newRedis(t, client, a)
		allow(t, l, "flush", minute, 1)
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if d := allow(t, l, "flush", minute, 1); d.Used != 2 {
			t.Errorf("%s: used %d after the scripts were flushed, want 2", a, d.Used)
		}
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Peek(ctx, "flush", minute, 1); err != nil || d.Used != 2 {
			t.Errorf("%s: peek after the scripts were flushed: %+v, %v", a, d, err)
		}
		client.FlushAll(ctx)
	}
}

func TestWrongType(t *testing.T) {
	client := limitertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newRedis(t, client, a)
		now := limiter.InstantOf(time.Now())
		for i, name := range limiter.Keys(a, "wrong", minute, limiter.Layout{}, now) {
			if i > 0 {
				continue
			}
			if err := client.RPush(ctx, name, "a", "b").Err(); err != nil {
				t.Fatal(err)
			}
			_, err := l.AllowN(ctx, "wrong", minute, 1)
			var wrong *limiter.WrongTypeError
			if !errors.Is(err, limiter.ErrWrongType) || !errors.As(err, &wrong) || wrong.Key != name || wrong.Type != "list" {
				t.Errorf("%s: %v", a, err)
			}
			if got := client.LLen(ctx, name).Val(); got != 2 {
				t.Errorf("%s: the list was changed", a)
			}
			client.FlushAll(ctx)
		}
	}
	now := limiter.InstantOf(time.Now())
	client.Set(ctx, limiter.Keys(limiter.FixedWindow, "text", minute, limiter.Layout{}, now)[0], "many", 0)
	if _, err := newRedis(t, client, limiter.FixedWindow).AllowN(ctx, "text", minute, 1); !errors.Is(err, limiter.ErrWrongType) {
		t.Errorf("a counter that is not a number: %v", err)
	}
}

// TestTimeoutIsNotRepeated talks to a server that takes requests and never answers. A
// client with its usual retries would send the decision four times.
func TestTimeoutIsNotRepeated(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var calls atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go swallow(conn, &calls)
		}
	}()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), Protocol: 2, ReadTimeout: 50 * time.Millisecond, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	l := newRedis(t, client, limiter.SlidingLog)
	if _, err := l.AllowN(context.Background(), "k", minute, 1); !errors.Is(err, limiter.ErrUnknownOutcome) || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v, want an unknown outcome", err)
	}
	if got := calls.Load(); got != 1 {
		t.Errorf("the decision was sent %d times", got)
	}
}

// swallow answers everything but script calls, which it counts.
func swallow(conn net.Conn, calls *atomic.Int64) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		text := strings.ToLower(string(buf[:n]))
		calls.Add(int64(strings.Count(text, "evalsha")))
		if strings.Contains(text, "evalsha") {
			continue
		}
		answer := "+OK\r\n"
		if strings.Contains(text, "hello") {
			answer = "-ERR unknown command 'hello'\r\n"
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

func TestNobodyThere(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	_, err := newRedis(t, client, limiter.GCRA).AllowN(context.Background(), "k", minute, 1)
	if err == nil || errors.Is(err, limiter.ErrUnknownOutcome) {
		t.Errorf("%v: a request that was never sent has a known outcome", err)
	}
}
