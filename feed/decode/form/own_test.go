package form

import (
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// TestWeightBesideTheTime: the cost of an entry stands beside its time in an object of JSON, in an array or in the
// field of a hash.
func TestWeightBesideTheTime(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 4, 5, 30, 0, time.UTC))
	const first, second = `{"t":1795493129000,"c":3}`, `{"t":1795493128000,"c":4}`
	for _, x := range []struct {
		read Source
		got  decode.Sample
	}{
		{Source{Kind: "json", Name: "hits"}, decode.Sample{Type: "string", Text: `{"hits":[` + first + "," + second + `]}`}},
		{Source{Kind: "json"}, decode.Sample{Type: "string", Text: "[" + first + "," + second + "]"}},
		{Source{Kind: "hash"}, decode.Sample{Type: "hash", Whole: true, Fields: map[string]string{"r1": first, "r2": second}}},
	} {
		name, err := ParseTemplate("w:{who}")
		if err != nil {
			t.Fatal(err)
		}
		l := Layout{Name: name, Read: x.read, At: Source{Kind: "field", Name: "t"}, Unit: time.Millisecond, Weight: "c",
			Limit: limiter.Limit{Count: 10, Window: 20 * time.Second}, LimitKnown: true}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		m, _ := l.Match("w:a", x.got.Type, now)
		own := l.Limiter(m, x.got.Type)
		own.Fetch(now)
		d := own.Decode(now, []decode.Sample{x.got}, decode.Settings{})
		d.State.Algorithm = d.Algorithm
		if left := d.State.Peek(now, d.Limit, d.Convention, 1).Remaining; d.Err != "" || left != 3 {
			t.Errorf("read: %s %s: %d remain of 10 after requests of 3 and 4: %s", x.read.Kind, x.read.Name, left, d.Err)
		}
	}
}

// TestWindowsOfASumAreOver: five counters of a minute each count for five minutes, and no counter of before is
// taken for one of five minutes, at whatever minute of the hour.
func TestWindowsOfASumAreOver(t *testing.T) {
	name, err := ParseTemplate("five:{who}:{window:%H%M}")
	if err != nil {
		t.Fatal(err)
	}
	l := Layout{Name: name, Read: Source{Kind: "value"}, Sum: 5, Limit: limiter.Limit{Count: 10, Window: 5 * time.Minute}, LimitKnown: true}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for minute := range 60 {
		now := time.Date(2026, 11, 24, 4, minute, 30, 0, time.UTC)
		for back := range 20 {
			key := "five:alice:" + now.Add(-time.Duration(back)*time.Minute).Format("1504")
			if m, ok := l.Match(key, "string", limiter.InstantOf(now)); !ok || m.Over != (back >= 5) {
				t.Errorf("at %s a counter of %d minutes ago, %s, is over: %v", now.Format("15:04"), back, key, m.Over)
			}
		}
	}
}

// TestAfterABlock: of a counter that never expires and whose block is over it is not known whether the next request begins
// anew; while the block lasts, it is denied.
func TestAfterABlock(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 4, 5, 30, 0, time.UTC)) // 1795493130 s
	name, err := ParseTemplate("guard:{who}")
	if err != nil {
		t.Fatal(err)
	}
	l := Layout{Name: name, Read: Source{Kind: "field", Name: "count"}, Block: Source{Kind: "field", Name: "until"}, Unit: time.Millisecond,
		Charged: true, Limit: limiter.Limit{Count: 5, Window: 20 * time.Second}, LimitKnown: true}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for until, partial := range map[string]bool{"1795493140000": false, "1795493129000": true, "": false, "9223372036854775807": true,
		"9999-12-31T23:59:59Z": false} {
		got := decode.Sample{Type: "hash", TTL: model.Forever, Whole: true, Fields: map[string]string{"count": "6", "until": until}}
		m, _ := l.Match("guard:a", got.Type, now)
		own := l.Limiter(m, got.Type)
		own.Fetch(now)
		if d := own.Decode(now, []decode.Sample{got}, decode.Settings{}); d.Partial != partial || d.Err != "" {
			t.Errorf("blocked until %q: partial %v, %q", until, d.Partial, d.Err)
		} else if until == "9999-12-31T23:59:59Z" && d.State.Peek(now, l.Limit, d.Convention, 1).RetryAfter <= 0 {
			t.Errorf("a block until %q is none: %+v", until, d.State)
		}
	}
}

// TestSeveralAtAnEdge: the counters that were asked for just before the end of a window are of that window, also where
// several rules read them and the server answers after it.
func TestSeveralAtAnEdge(t *testing.T) {
	asked := limiter.InstantOf(time.Date(2026, 11, 24, 12, 0, 59, 999_000_000, time.UTC))
	var all Several
	for _, x := range []struct {
		name, key string
		limit     limiter.Limit
	}{
		{"m:{who}:{window:%H%M}", "m:a:1200", limiter.Limit{Count: 100, Window: time.Minute}},
		{"h:{who}:{window:%H}", "h:a:12", limiter.Limit{Count: 1000, Window: time.Hour}},
	} {
		name, err := ParseTemplate(x.name)
		if err != nil {
			t.Fatal(err)
		}
		l := Layout{Name: name, Read: Source{Kind: "value"}, Limit: x.limit, LimitKnown: true}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		m, _ := l.Match(x.key, "string", asked)
		all = append(all, l.Limiter(m, "string"))
	}
	all.Fetch(asked)
	now := asked.Add(2 * time.Millisecond)
	used := decode.Sample{Type: "string", Text: "100", TTL: time.Minute}
	d := all.Decode(now, []decode.Sample{used, used}, decode.Settings{})
	d.State.Algorithm = d.Algorithm
	if left := d.State.Peek(now, d.Limit, d.Convention, 1).Remaining; d.Err != "" || left != 100 {
		t.Errorf("%d remain after the window of 100 requests: %s", left, d.Err)
	}
}

// TestALevelBeyondAllCounts: a number that no count reaches denies, as one that is just over the limit does.
func TestALevelBeyondAllCounts(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 4, 5, 30, 0, time.UTC)) // 1795493130 s
	name, err := ParseTemplate("m:{who}")
	if err != nil {
		t.Fatal(err)
	}
	l := Layout{Name: name, Read: Source{Kind: "level"}, Amount: Source{Kind: "field", Name: "n"}, At: Source{Kind: "field", Name: "ts"},
		Unit: time.Second, Refill: "whole window", Limit: limiter.Limit{Count: 10, Window: time.Minute}, LimitKnown: true}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for n, next := range map[string]time.Duration{"3": 0, "11": 50 * time.Second, "1e300": 50 * time.Second} {
		m, _ := l.Match("m:a", "hash", now)
		own := l.Limiter(m, "hash")
		own.Fetch(now)
		got := decode.Sample{Type: "hash", TTL: time.Minute, Whole: true, Fields: map[string]string{"n": n, "ts": "1795493120"}}
		d := own.Decode(now, []decode.Sample{got}, decode.Settings{})
		r := model.Reading{At: now, Type: "hash", State: d.State, Ends: d.Ends, Partial: d.Partial, TTL: d.TTL}
		r.Target = model.Target{Algorithm: d.Algorithm, Limit: l.Limit, LimitKnown: true, Window: d.Window, Convention: d.Convention}
		r.State.Algorithm = d.Algorithm
		if g := r.Gauge(now); d.Err != "" || g.Used.N < 0 || g.Next != next {
			t.Errorf("%s: %q, used %d, next in %v, want %v", n, d.Err, g.Used.N, g.Next, next)
		}
	}
}
