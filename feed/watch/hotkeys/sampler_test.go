package hotkeys

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"
)

// write keeps writing keys until the test ends.
func write(t testing.TB, c *redis.Client, keys ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			for _, k := range keys {
				c.Incr(ctx, k)
			}
		}
	})
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// TestListen hears of the keys that are written, and of those with the prefixes alone; no
// trace is left at the server.
func TestListen(t *testing.T) {
	c := startServer(t)
	ctx := context.Background()
	write(t, c, "rl:a", "other", "rl:b", "{rl:c}:sw:1")
	for _, test := range []struct {
		prefixes []string
		want     string
	}{{nil, "other rl:a rl:b {rl:c}:sw:1"}, {[]string{"rl:", "{rl:"}, "rl:a rl:b {rl:c}:sw:1"}, {[]string{"nobody"}, ""}} {
		e := NewSampler(c, test.prefixes)
		counts := map[string]int{}
		lasted, events := time.Duration(0), 0
		heard := func() bool {
			return !slices.ContainsFunc(strings.Fields(test.want), func(k string) bool { return counts[k] < 2 })
		}
		// On a busy machine a single moment may pass without a write.
		for first := true; first || !heard() && lasted < time.Minute; first = false {
			d, n, err := e.Sample(ctx, 60*time.Millisecond, func(key string) { counts[key]++ })
			if err != nil {
				t.Fatal(err)
			}
			lasted, events = lasted+d, events+n
		}
		for _, k := range strings.Fields(test.want) {
			if counts[k] < 2 {
				t.Errorf("%v: %s was heard %d times in %v", test.prefixes, k, counts[k], lasted)
			}
			events -= counts[k]
			delete(counts, k)
		}
		if len(counts) != 0 || events != 0 {
			t.Errorf("%v: heard also %v, %d events too many", test.prefixes, counts, events)
		}
		if list := c.ClientList(ctx).Val(); strings.Contains(list, "flags=t") || strings.Contains(list, "flags=Pt") {
			t.Errorf("the server still tracks:\n%s", list)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := c.PubSubNumSub(ctx, Channel).Val()[Channel]; n != 0 {
		t.Errorf("%d connections are still subscribed", n)
	}
}

// TestListenIsBounded: while it listens, the connection is of the class whose output buffer
// the server limits, so that a reader that stops is cut and cannot fill its memory.
func TestListenIsBounded(t *testing.T) {
	c := startServer(t)
	ctx := context.Background()
	e := NewSampler(c, nil)
	defer e.Close()
	var during string
	stop := write(t, c, "k")
	var err error
	for begun := time.Now(); err == nil && during == "" && time.Since(begun) < time.Minute; {
		_, _, err = e.Sample(ctx, 30*time.Millisecond, func(string) {
			if during == "" {
				during = c.ClientList(ctx).Val()
			}
		})
	}
	stop()
	if err != nil {
		t.Fatal(err)
	}
	pubsub, err := c.Do(ctx, "client", "list", "type", "pubsub").Text()
	if err != nil || strings.Count(pubsub, "\n") != 1 {
		t.Errorf("connections of class pubsub: %q, %v", pubsub, err)
	}
	if during == "" {
		t.Error("nothing was heard")
	}
}

// TestListenRefused: a server that says no is not asked again and again, one that is cut is.
func TestListenRefused(t *testing.T) {
	c := startServer(t)
	ctx := context.Background()
	if err := c.Do(ctx, "acl", "setuser", "poor", "on", ">x", "~*", "+@all", "-client|tracking", "&*").Err(); err != nil {
		t.Fatal(err)
	}
	o := *c.Options()
	o.Username, o.Password = "poor", "x"
	poor := redis.NewClient(&o)
	defer poor.Close()
	if _, _, err := NewSampler(poor, nil).Sample(ctx, time.Millisecond, nil); !errors.Is(err, ErrNoTracking) {
		t.Errorf("without the permission: %v", err)
	}
	o = *c.Options()
	o.Protocol = 2
	old := redis.NewClient(&o)
	defer old.Close()
	if _, _, err := NewSampler(old, nil).Sample(ctx, time.Millisecond, nil); !errors.Is(err, ErrNoTracking) {
		t.Errorf("over RESP2: %v", err)
	}
	e := NewSampler(c, nil)
	defer e.Close()
	if _, _, err := e.Sample(ctx, time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(ctx, "client", "kill", "type", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Sample(ctx, time.Millisecond, nil); err == nil || errors.Is(err, ErrNoTracking) {
		t.Errorf("after the connection was cut: %v", err)
	}
	if _, _, err := e.Sample(ctx, time.Millisecond, nil); err != nil {
		t.Errorf("the next time: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := e.Sample(gone, time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// FuzzMessage: whatever the server pushes, it is taken or passed over.
func FuzzMessage(f *testing.F) {
	f.Add("key", int64(3), uint8(0))
	f.Add("", int64(-1), uint8(7))
	f.Fuzz(func(t *testing.T, key string, n int64, shape uint8) {
		e := &Sampler{}
		reported := 0
		e.each = func(string) { reported++ }
		shapes := []any{nil, key, n, []any{key}, []any{key, n, nil, []any{key}}, map[any]any{key: n}, []any{}}
		pushed := []any{Pushed}
		for i := range int(shape) % 4 {
			pushed = append(pushed, shapes[(int(shape)/4+i)%len(shapes)])
		}
		if err := e.HandlePushNotification(context.Background(), push.NotificationHandlerContext{}, pushed); err != nil || reported != e.events {
			t.Fatalf("%v, %d told, %d counted", err, reported, e.events)
		}
	})
}
