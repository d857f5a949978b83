package track

import (
	"context"
	"slices"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"

	"github.com/redis/go-redis/v9"
)

// TestWindowOfKind: the window of a counter that does not tell it is inferred from the youngest
// counters of its kind, also by the first reading of a key that is old itself, and a block is not
// taken for a window.
func TestWindowOfKind(t *testing.T) {
	client := servertest.Start(t).Client()
	defer client.Close()
	ctx := context.Background()
	now := limiter.InstantOf(time.Now())
	for key, c := range map[string]struct {
		n   int
		ttl time.Duration
	}{
		"rlflx:young":   {1, 59_800 * time.Millisecond},
		"rlflx:old":     {4, 7 * time.Second},
		"rlflx:blocked": {6, time.Hour - time.Second},
		"hrl:other":     {2, 40 * time.Second},
	} {
		if err := client.Set(ctx, key, c.n, c.ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	keys := []string{"rlflx:blocked", "hrl:other", "rlflx:old", "rlflx:young"}
	finds, _, err := decode.Classify(ctx, client, library.Recognizer(), keys, nil, decode.Clock{Now: func() limiter.Instant { return now }})
	if err != nil {
		t.Fatal(err)
	}
	var windows decode.Windows
	for _, f := range finds {
		windows.Meet(f.Match)
	}
	for _, c := range []struct {
		key    string
		window time.Duration
	}{{"rlflx:old", time.Minute}, {"rlflx:young", time.Minute}, {"rlflx:blocked", 0}, {"hrl:other", 0}} {
		i := slices.IndexFunc(finds, func(f decode.Found) bool { return f.Key == c.key })
		l := New(c.key, nil, false, nil)
		l.Attach(finds[i])
		p := client.Pipeline()
		l.Ask(&Query{Ctx: ctx, Pipe: p, Now: now, Whole: true, OnScreen: true, Entries: 1000, Windows: &windows})
		if _, err := p.Exec(ctx); err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		r, _, err := l.Take(now, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Target.Window != c.window || slices.Contains(r.Notes, model.WindowInferred) != (c.window > 0) {
			t.Errorf("%s: window %v, notes %q; want %v", c.key, r.Target.Window, r.Notes, c.window)
		}
		if g := r.Gauge(now); !g.Used.Known || g.Reset <= 0 || (g.Reset-r.TTL).Abs() > 10*time.Millisecond {
			t.Errorf("%s: used %v until %v, the key expires in %v", c.key, g.Used, g.Reset, r.TTL)
		}
	}
}

// TestMembersAreTheCountersThatAreThere: a limiter of one counter a window names the keys that exist,
// and what an earlier reading was given stays as it was.
func TestMembersAreTheCountersThatAreThere(t *testing.T) {
	var b counterDecoder
	read := func(there ...limiter.Instant) []string {
		b.asked = []counterAsk{{start: 1, name: "{k}:sw:1"}, {start: 2, name: "{k}:sw:2"}, {start: 3, name: "{k}:sw:3"}}
		values := map[limiter.Instant]int64{}
		for _, at := range there {
			values[at] = 5
		}
		return b.members(values)
	}
	first := read(1, 2)
	again, next := read(1, 2), read(2, 3)
	if !slices.Equal(first, []string{"{k}:sw:1", "{k}:sw:2"}) || &first[0] != &again[0] || !slices.Equal(next, []string{"{k}:sw:2", "{k}:sw:3"}) {
		t.Errorf("members are %q, then %q, then %q", first, again, next)
	}
	if none := read(); len(none) != 0 {
		t.Errorf("without any counter, members are %q", none)
	}
}

// TestUnitsGivenBackAreNoRequests: a counter that fell had units given back, and what came is counted from there.
func TestUnitsGivenBackAreNoRequests(t *testing.T) {
	b := counterDecoder{window: time.Minute, asked: []counterAsk{{start: noon}}, values: map[limiter.Instant]int64{noon: 100}}
	for _, c := range []struct{ n, want int64 }{{80, 0}, {81, 1}, {101, 20}} {
		now := map[limiter.Instant]int64{noon: c.n}
		var came int64
		for _, a := range b.rises(noon.Add(2*time.Second), noon.Add(time.Second), now) {
			came += a.N
		}
		if b.values = now; came != c.want {
			t.Errorf("at %d units %d came, want %d", c.n, came, c.want)
		}
	}
}

// TestWindowsThatNoLimiterHas: starts of windows in key names that are nanoseconds or decades apart give no window.
func TestWindowsThatNoLimiterHas(t *testing.T) {
	for _, starts := range [][]limiter.Instant{{1e3, 18446744073711e3, 18446744073712e3}, {1e3, 1795000000001e3}} {
		var b counterDecoder
		for _, start := range starts {
			b.meet(start)
		}
		if w := b.infer(noon, 0); w != 0 {
			t.Errorf("starts %v are of windows of %v", starts, w)
		}
	}
}
