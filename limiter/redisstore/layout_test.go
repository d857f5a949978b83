package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

// TestForeignLog fires at sorted sets that another program keeps in each unit: its
// entries count, ours look like its own, and its expiry is not brought forward.
func TestForeignLog(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		t.Run(unit.String(), func(t *testing.T) {
			key := "zset:" + unit.String()
			now := client.Time(ctx).Val()
			per := float64(time.Second / unit)
			scores := []float64{}
			for i, ago := range []time.Duration{70, 50, 20} {
				scores = append(scores, math.Floor(float64(now.Add(-ago*time.Minute).UnixMicro())/1e6*per))
				client.ZAdd(ctx, key, redis.Z{Score: scores[i], Member: fmt.Sprintf("req-%d", i)})
			}
			instant := func(score float64) limiter.Instant { return limiter.Instant(score / per * 1e6) }
			l := newStore(t, client, limiter.SlidingLog, redisstore.WithLayout(layout.Layout{Unit: unit}))
			limit := limiter.Limit{Count: 4, Window: time.Hour}
			var admitted limiter.Instant
			for i := range 2 {
				d := allow(t, l, key, limit, 1)
				if admitted = d.At; !d.Allowed || d.Used != int64(3+i) {
					t.Fatalf("request %d: %+v", i, d)
				}
			}
			d := allow(t, l, key, limit, 1)
			if free := instant(scores[1]).Add(limit.Window); d.Allowed || d.At.Add(d.RetryAfter).Sub(free).Abs() > time.Millisecond {
				t.Errorf("full: %+v, want a wait until %d, for the entry of 50 minutes ago", d, free)
			}
			if n := client.ZCard(ctx, key).Val(); n != 5 {
				t.Errorf("%d members, want 5: nothing of another program's is trimmed", n)
			}
			last := client.ZRevRangeWithScores(ctx, key, 0, 0).Val()[0]
			if at := instant(last.Score); at.Sub(admitted).Abs() > time.Millisecond {
				t.Errorf("our score is %v, which is %d, want %d", last.Score, at, admitted)
			}
			if ttl := client.PTTL(ctx, key).Val(); ttl != -1 {
				t.Errorf("the key got an expiry of %v and had none", ttl)
			}
			client.PExpire(ctx, key, 3*time.Hour)
			expires := client.PExpireTime(ctx, key).Val()
			client.ZRemRangeByRank(ctx, key, 0, 2)
			allow(t, l, key, limit, 1)
			if after := client.PExpireTime(ctx, key).Val(); after < expires {
				t.Errorf("the key expires %v earlier", expires-after)
			}
			allow(t, l, "fresh:"+key, limit, 1)
			if ttl := client.PTTL(ctx, "fresh:"+key).Val(); ttl <= 0 || ttl > limit.Window {
				t.Errorf("a new key expires after %v, want a window", ttl)
			}
		})
	}
}

func TestSuffixedCounters(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
			form := layout.Layout{Unit: unit, Suffixed: true}
			limit := limiter.Limit{Count: 10, Window: yearly.Window}
			key := "rate:" + a.String() + ":" + unit.String()
			now := limiter.InstantOf(client.Time(ctx).Val())
			name := layout.Keys(a, key, limit, form, now)[0]
			start := int64(now.Floor(limit.Window)) / int64(unit/time.Microsecond)
			if name != key+":"+strconv.FormatInt(start, 10) {
				t.Fatalf("the counter is called %q", name)
			}
			client.Set(ctx, name, 7, 0)
			l := newStore(t, client, a, redisstore.WithLayout(form))
			if d := allow(t, l, key, limit, 2); !d.Allowed || d.Used != 9 {
				t.Errorf("%s in %v: %+v", a, unit, d)
			}
			if d := allow(t, l, key, limit, 2); d.Allowed {
				t.Errorf("%s in %v: %+v", a, unit, d)
			}
			if got := client.Get(ctx, name).Val(); got != "9" {
				t.Errorf("%s in %v: the counter is %s", a, unit, got)
			}
			if err := l.Reset(ctx, key, limit); err != nil || client.Exists(ctx, name).Val() != 0 {
				t.Errorf("%s in %v: reset left the counter: %v", a, unit, err)
			}
		}
		_, err := newStore(t, client, limiter.FixedWindow, redisstore.WithLayout(layout.Layout{Unit: time.Second, Suffixed: true})).
			AllowN(ctx, "k", limiter.Limit{Count: 1, Window: 1500 * time.Millisecond}, 1)
		if !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("a window of a second and a half, named in seconds: %v", err)
		}
	}
}

// TestUntotalledStream fires at a stream in the format of a writer that keeps no totals.
func TestUntotalledStream(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	key := "calls"
	add := func(n int) {
		t.Helper()
		pipe := client.Pipeline()
		for range n {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"count", "2"}})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
	limit := limiter.Limit{Count: 5000, Window: yearly.Window}
	l := newStore(t, client, limiter.StreamCounter, redisstore.WithLayout(layout.Layout{NoTotals: true}))
	total := int64(0)
	for i, n := range []int{0, 3, 40, 1700, 120, 0, 101} {
		add(n)
		total += int64(2 * n)
		if d, err := l.Peek(ctx, key, limit, 1); err != nil || d.Used != total {
			t.Fatalf("step %d: peek %+v, %v, want %d used", i, d, err, total)
		}
		d := allow(t, l, key, limit, 3)
		total += 3
		if !d.Allowed || d.Used != total {
			t.Fatalf("step %d: %+v, want %d used", i, d, total)
		}
	}
	d := allow(t, l, key, limit, limit.Count-total+1)
	if d.Allowed || d.RetryAfter <= limit.Window-time.Hour || d.RetryAfter > limit.Window {
		t.Errorf("one too many: %+v", d)
	}
	if d := allow(t, l, key, limit, limit.Count-total); !d.Allowed || d.Remaining != 0 {
		t.Errorf("just enough: %+v", d)
	}
	if ttl := client.PTTL(ctx, key).Val(); ttl <= 0 && ttl != -1 {
		t.Errorf("ttl %v", ttl)
	}
	last := client.XRevRangeN(ctx, key, "+", "-", 1).Val()[0]
	if len(last.Values) != 1 || last.Values["count"] == "" {
		t.Errorf("our entry is %v, want the field count alone", last.Values)
	}

	// The stream begins anew behind the limiter's back.
	client.Del(ctx, key)
	for id, _, _ := strings.Cut(last.ID, "-"); strconv.FormatInt(client.Time(ctx).Val().UnixMilli(), 10) == id; {
		continue // the new stream would begin with the very same id
	}
	add(1)
	if d := allow(t, l, key, limit, 1); d.Used != 3 {
		t.Errorf("after the stream was deleted: %+v, want 3 used", d)
	}
	client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"hits", "2"}})
	if _, err := l.AllowN(ctx, key, limit, 1); !errors.Is(err, limiter.ErrWrongType) || !strings.Contains(err.Error(), key) {
		t.Errorf("an entry without a count: %v", err)
	}
	if _, err := newStore(t, client, limiter.StreamCounter).AllowN(ctx, key, limit, 1); err == nil || !strings.Contains(err.Error(), "totals") {
		t.Errorf("without the layout: %v", err)
	}
}

// TestUntotalledWaitsInTime: a decision that has to wait for another about the same key ends with its context, however
// long the other one waits for a server that does not answer.
func TestUntotalledWaitsInTime(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: servertest.Patience})
	t.Cleanup(func() { _ = client.Close() })
	l := newStore(t, client, limiter.StreamCounter, redisstore.WithLayout(layout.Layout{NoTotals: true}))
	allow(t, l, "k", yearly, 1)
	server.Freeze()
	first := make(chan error)
	go func() {
		_, err := l.AllowN(context.Background(), "k", yearly, 1)
		first <- err
	}()
	for range 5 { // the first of these may come before the other
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, err := l.AllowN(ctx, "k", yearly, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a decision with 50 ms: %v", err)
		}
		cancel()
	}
	select {
	case err := <-first:
		t.Errorf("the first decision ended before the others: %v", err)
	default:
	}
	server.Thaw()
	if err := <-first; err != nil {
		t.Errorf("the first decision: %v", err)
	}
}

// TestUntotalledExpiry lets what was summed leave the window again.
func TestUntotalledExpiry(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	now := far
	l := newStore(t, client, limiter.StreamCounter, redisstore.WithLayout(layout.Layout{NoTotals: true}), redisstore.WithClock(func() limiter.Instant { return now }))
	limit := limiter.Limit{Count: 300, Window: time.Second}
	model := limiter.State{Algorithm: limiter.StreamCounter}
	for i := range 1200 {
		now = now.Add(time.Duration(i%7) * time.Millisecond)
		if i%400 == 399 {
			now = now.Add(600 * time.Millisecond)
		}
		want := model.Take(now, limit, limiter.Convention{}, int64(i%3)+1)
		got, err := l.AllowN(ctx, "walk", limit, int64(i%3)+1)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if got.Allowed != want.Allowed || got.Used != want.Used || got.RetryAfter != want.RetryAfter {
			t.Fatalf("request %d: %+v\nwant %+v", i, got, want)
		}
	}
}

// TestUnits says what a stream of units holds, and what it refuses because a trim takes
// longer the more it holds.
func TestUnits(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	units := redisstore.WithLayout(layout.Layout{PerUnit: true})
	l := newStore(t, client, limiter.StreamCounter, units)
	limit := limiter.Limit{Count: 10_000, Window: yearly.Window}
	for range 10 {
		allow(t, l, "units", limit, 1000)
	}
	if d := allow(t, l, "units", limit, 1); d.Allowed || d.Used != limit.Count || d.RetryAfter <= 0 || d.RetryAfter > limit.Window {
		t.Errorf("one too many: %+v", d)
	}
	first := client.XRangeN(ctx, "units", "-", "+", 1).Val()[0]
	if len(first.Values) != 1 || first.Values["count"] != "1" || client.XLen(ctx, "units").Val() != limit.Count {
		t.Errorf("the first of %d entries is %v", client.XLen(ctx, "units").Val(), first)
	}
	for _, c := range []struct{ limit, cost int64 }{{10_001, 1}, {10_000, 1001}} {
		if _, err := l.AllowN(ctx, "refused", limiter.Limit{Count: c.limit, Window: time.Second}, c.cost); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("a limit of %d and a cost of %d: %v", c.limit, c.cost, err)
		}
	}
	if _, err := redisstore.New(client, limiter.StreamCounter, redisstore.WithLayout(layout.Layout{PerUnit: true, NoTotals: true})); !errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("two layouts at once: %v", err)
	}

	// A limit of 0 denies nothing, so the stream grows until it is too long.
	for range 40 {
		allow(t, l, "units", limiter.Limit{Window: yearly.Window}, 1000)
	}
	over := allow(t, l, "units", limiter.Limit{Window: yearly.Window}, 1)
	if !over.Allowed || over.Used != 50_001 {
		t.Errorf("the last that is counted: %+v", over)
	}
	if _, err := l.AllowN(ctx, "units", limit, 1); !errors.Is(err, limiter.ErrNotOnStore) || !strings.Contains(err.Error(), "running totals") {
		t.Errorf("too long a stream: %v", err)
	}
	if n := client.XLen(ctx, "units").Val(); n != 50_001 {
		t.Errorf("a refused request left %d entries", n)
	}
}

// TestManyUnitsAreRefunded takes off more entries at once than Lua passes to one command.
func TestManyUnitsAreRefunded(t *testing.T) {
	t.Parallel()
	l := newStore(t, servertest.Client(t), limiter.StreamCounter, redisstore.WithLayout(layout.Layout{PerUnit: true}))
	limit := limiter.Limit{Count: 9000, Window: yearly.Window}
	for range 9 {
		allow(t, l, "k", limit, 1000)
	}
	if d, err := l.Refund(context.Background(), "k", limit, 10_000); err != nil || d.Used != 0 {
		t.Errorf("a refund of 10,000 leaves %+v, %v", d, err)
	}
}

// TestStreamsFromTheEpoch: a clock that was given may begin at 0, before which no id of a stream is.
func TestStreamsFromTheEpoch(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	for i, way := range []layout.Layout{{}, {PerUnit: true}, {NoTotals: true}} {
		l := newStore(t, client, limiter.StreamCounter, redisstore.WithLayout(way), redisstore.WithClock(func() limiter.Instant { return 0 }))
		for used := range int64(3) {
			if d := allow(t, l, fmt.Sprint("k", i), limiter.Limit{Count: 2, Window: time.Minute}, 1); d.Allowed != (used < 2) {
				t.Errorf("%+v: request %d: %+v", way, used+1, d)
			}
		}
	}
}

// TestTrimIsBounded fills a log and a stream with what expired long ago. No decision may
// pay for removing it all, and all of it goes in the end.
func TestTrimIsBounded(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	const expired = 20_000
	pipe := client.Pipeline()
	for i := range expired {
		const long = 1_200_000_000_000_000 // in 2008
		pipe.ZAdd(ctx, "log", redis.Z{Score: float64(long + i), Member: strconv.Itoa(long + i)})
	}
	now := limiter.InstantOf(client.Time(ctx).Val())
	pipe.ZAdd(ctx, "log", redis.Z{Score: float64(now), Member: strconv.FormatInt(int64(now), 10)})
	pipe.Expire(ctx, "log", yearly.Window)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	fillStream(t, client, "stream", expired)
	for _, c := range []struct {
		key         string
		algorithm   limiter.Algorithm
		size        func(ctx context.Context, key string) *redis.IntCmd
		most, stays int64 // removed by a decision, and expired entries that need not go
	}{
		{"log", limiter.SlidingLog, client.ZCard, 100, 0},
		{"stream", limiter.StreamCounter, client.XLen, 500, 100},
	} {
		l := newStore(t, client, c.algorithm)
		limit := limiter.Limit{Count: 1_000_000, Window: yearly.Window}
		before, used := int64(expired+1), int64(1)
		for i := 0; before > used+c.stays; i++ {
			used++
			if d := allow(t, l, c.key, limit, 1); d.Used != used {
				t.Fatalf("%s, request %d: %+v, want %d used", c.algorithm, i, d, used)
			}
			after := c.size(ctx, c.key).Val()
			if removed := before + 1 - after; removed > c.most {
				t.Fatalf("%s, request %d removed %d entries", c.algorithm, i, removed)
			}
			if before = after; i > 20_000 {
				t.Fatalf("%s: after %d requests %d entries are left, of which %d count", c.algorithm, i, after, used)
			}
		}
	}
}

// TestTrimOfWideNodes: a server that keeps more entries in a node of a stream than one
// trim removes gives them up too.
func TestTrimOfWideNodes(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: servertest.Start(t, "--stream-node-max-entries", "2000", "--stream-node-max-bytes", "0").Addr()})
	t.Cleanup(func() { _ = client.Close() })
	const expired = 10_000
	fillStream(t, client, "wide", expired)
	l := newStore(t, client, limiter.StreamCounter)
	limit := limiter.Limit{Count: 1_000_000, Window: yearly.Window}
	for i := range 128 {
		if d := allow(t, l, "wide", limit, 64); d.Used != int64(1+64*(i+1)) {
			t.Fatalf("request %d: %+v", i, d)
		}
	}
	if n := client.XLen(context.Background(), "wide").Val(); n > 2129 {
		t.Errorf("%d entries are left, of which 129 count and a node is kept with them", n)
	}
}

// fillStream writes entries of long ago, and one of now, as the limiter itself would have.
func fillStream(t *testing.T, client *redis.Client, key string, n int) {
	t.Helper()
	ctx := context.Background()
	pipe := client.Pipeline()
	pipe.Del(ctx, key) // the client sends a pipeline again whose answer it has not waited for
	add := func(at int64, total int) {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: fmt.Sprintf("%d-1%015d", at, total), Values: []any{"count", 1, "total", total}})
	}
	for i := range n {
		add(int64(i+1), i+1)
	}
	add(client.Time(ctx).Val().UnixMilli(), n+1)
	pipe.Expire(ctx, key, yearly.Window)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestLayoutsDenyAlike records denials and blocks in every layout as in the library's own.
func TestLayoutsDenyAlike(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	limit := limiter.Limit{Count: 3, Window: yearly.Window}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		layout    layout.Layout
	}{
		{limiter.SlidingLog, layout.Layout{Unit: time.Second}},
		{limiter.SlidingLog, layout.Layout{Unit: time.Millisecond}},
		{limiter.FixedWindow, layout.Layout{Unit: time.Second, Suffixed: true}},
		{limiter.SlidingWindow, layout.Layout{Unit: time.Millisecond, Suffixed: true}},
		{limiter.StreamCounter, layout.Layout{NoTotals: true}},
		{limiter.StreamCounter, layout.Layout{PerUnit: true}},
	} {
		client.FlushAll(ctx)
		key := "layout"
		plain := newStore(t, client, c.algorithm, redisstore.WithLayout(c.layout), redisstore.WithDenials())
		for range 5 {
			allow(t, plain, key, limit, 1)
		}
		if n := client.XLen(ctx, layout.DeniedKey(key)).Val(); n != 2 {
			t.Errorf("%s %+v: %d denials recorded, want 2", c.algorithm, c.layout, n)
		}
		blocking := newStore(t, client, c.algorithm, redisstore.WithLayout(c.layout), redisstore.WithConvention(limiter.Convention{Block: time.Hour}))
		for range 2 {
			if d := allow(t, blocking, key, limit, 1); d.Allowed || d.RetryAfter < 59*time.Minute {
				t.Errorf("%s %+v: %+v, want a block of an hour", c.algorithm, c.layout, d)
			}
		}
		if d, err := blocking.Peek(ctx, key, limit, 1); err != nil || d.Allowed || d.RetryAfter < 59*time.Minute {
			t.Errorf("%s %+v: a peek at a blocked key: %+v, %v", c.algorithm, c.layout, d, err)
		}
		if err := blocking.Reset(ctx, key, limit); err != nil {
			t.Error(err)
		}
		if d := allow(t, blocking, key, limit, 1); !d.Allowed {
			t.Errorf("%s %+v: after a reset: %+v", c.algorithm, c.layout, d)
		}
		if _, err := plain.AllowKeys(ctx, 1, limiter.OnKey(key, limit)...); !errors.Is(err, limiter.ErrNotOnStore) {
			t.Errorf("%s %+v: several limits: %v", c.algorithm, c.layout, err)
		}
	}
}
