package track

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestInfer takes over window and limit of likely limiters once they are sure, marks them, and
// leaves alone what a rule says; keys that never count are unlikely.
func TestInfer(t *testing.T) {
	const window, limit = time.Minute, 20
	const start limiter.Instant = 1_795_300_020_000_000
	var e Engine
	likely := func(name, pattern string, r *config.Rule) *Tracker {
		l := New(name, r, false, nil)
		l.Attach(decode.Found{Key: name, Type: "string", Name: name, Kind: decode.Single, Sure: true, Evidence: model.Likely})
		l.inferred, l.Found.Pattern = &e, pattern
		return l
	}
	var keys []*Tracker
	for i := range 5 {
		keys = append(keys, likely(fmt.Sprint("x:", i), "x:*", nil))
	}
	ruled := likely("x:5", "x:*", &config.Rule{Match: "*", Limit: limiter.Limit{Count: 7, Window: time.Second}, LimitKnown: true, Window: time.Second})
	flag := likely("f:1", "f:*", nil)
	var readings []model.Reading
	for since := time.Duration(0); since < 10*time.Minute; since += time.Second {
		at := start.Add(since)
		readings = readings[:0]
		for i, l := range append(slices.Clone(keys), ruled, flag) {
			into := since % window
			l.key.typ, l.key.ttl, l.kind = "string", window-into, decode.Single
			l.aim.target.Algorithm = limiter.FixedWindow
			r := model.Reading{Key: l.Name, At: at}
			if r.State.Current = min(limit, 1+int64(into.Seconds())*int64(i+1)/2); l == flag {
				r.State.Current = 1
			}
			l.finish(at, &r)
			readings = append(readings, r)
		}
	}
	for i, r := range readings {
		switch l := r.Target; {
		case i < 5 && (l.Window != window || l.Limit.Count != limit || l.LimitFrom != model.LimitInferred || !slices.Contains(r.Notes, model.LimitGuessed) || !slices.Contains(r.Notes, model.WindowInferred)):
			t.Errorf("%s: %+v %v %v", r.Key, l, r.Notes, r.Unsettled)
		case i == 5 && (l.Window != time.Second || l.Limit.Count != 7):
			t.Errorf("the rule gives way: %+v", l)
		}
	}
	if keys[0].Unlikely() || !flag.Unlikely() {
		t.Errorf("a limiter is unlikely: %v, a switch is: %v", keys[0].Unlikely(), flag.Unlikely())
	}
}

// TestWithhold holds the figures of a counter that a rule tells by a pattern alone to what its name says: the
// number at its end may be the end of a window as well as its start, and is taken for the start where it is a
// past edge of the window. A number just ahead of the server's clock is no empty window.
func TestWithhold(t *testing.T) {
	edge := noon.Floor(time.Minute)
	for _, c := range []struct {
		what  string
		start limiter.Instant
		want  bool
	}{
		{"the edge before", edge, false},
		{"the edge before that one", edge.Add(-time.Minute), false},
		{"an edge in half a minute", edge.Add(time.Minute), true},
		{"no edge", edge.Add(-7 * time.Second), true},
	} {
		l := &Tracker{Found: Finding{Evidence: model.Told}, decoder: &counterDecoder{starts: []limiter.Instant{c.start}}}
		l.aim.target.Window = time.Minute
		r := model.Reading{At: edge.Add(30 * time.Second)}
		if got := l.withhold(&r); got != c.want || r.Partial != c.want {
			t.Errorf("%s: withheld %v, partial %v, want %v", c.what, got, r.Partial, c.want)
		}
	}
	l := &Tracker{Found: Finding{Evidence: model.Told}, decoder: &counterDecoder{starts: []limiter.Instant{edge.Add(time.Minute)}}}
	l.aim.target.Window = time.Minute
	if r := (model.Reading{At: edge.Add(time.Minute - 600*time.Millisecond)}); !l.withhold(&r) {
		t.Error("a window that begins in 600 ms is taken for an empty one, although its counter counts")
	}
}

// toldByMatch returns a tracker of one counter that a rule with match tells, with a limit of 10 a minute.
func toldByMatch(key string) *Tracker {
	r := &config.Rule{Match: "rl:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 10, Window: time.Minute}, LimitKnown: true, Window: time.Minute}
	l := New(key, r, false, nil)
	l.Attach(decode.Found{Key: key, Name: key, Type: "string", Kind: decode.Single, Evidence: model.Told})
	return l
}

// TestMinuteOfTheHour: a counter whose name ends in the minute of now, or of the one before, may be one a minute, which
// is over with the minute and not with the expiry. It is none as soon as one of its kind counts in another minute.
func TestMinuteOfTheHour(t *testing.T) {
	at := noon.Floor(time.Hour).Add(52*time.Minute + 20*time.Second)
	for _, c := range []struct {
		key  string
		ttl  time.Duration
		want bool
	}{
		{"rl:f:52", 50 * time.Second, true},
		{"rl:f:51", 15 * time.Second, true},
		{"rl:f:17", 50 * time.Second, false},
		{"rl:f:452", 50 * time.Second, false},
		{"rl:52:0", 50 * time.Second, true},
	} {
		l := toldByMatch(c.key)
		r := lookAt(t, l, at, 3, c.ttl)
		if r.Partial != c.want || slices.Contains(r.Notes, model.WindowNamed) != c.want {
			t.Errorf("%s: partial %v, %v", c.key, r.Partial, r.Notes)
		}
	}
	engine := &Engine{}
	l := toldByMatch("rl:f:52")
	look := func(after time.Duration, n int64) model.Reading {
		return lookWith(t, l, at.Add(after), n, 50*time.Second-after, engine)
	}
	if look(0, 3); !look(10*time.Second, 4).Partial {
		t.Error("a counter that rises in the minute of its name is taken for another")
	}
	look(41*time.Second, 4)
	if r := look(45*time.Second, 5); r.Partial || r.State.Current != 5 {
		t.Errorf("it counts in another minute and is withheld: %+v", r)
	}
}

// TestIDsAreNoMinutes: keys that are numbered are told, although some have the number of now or of the minutes before, as soon as one
// lives in a minute that is neither. Where each has one of these they may hold windows.
func TestIDsAreNoMinutes(t *testing.T) {
	at := noon.Floor(time.Hour).Add(6*time.Minute + 20*time.Second)
	withheld := func(numbers ...int) (list []int) {
		engine := &Engine{}
		for range 2 {
			list = nil
			for _, n := range numbers {
				if r := lookWith(t, toldByMatch(fmt.Sprintf("rl:%03d", n)), at, 10, 50*time.Second, engine); r.Partial {
					list = append(list, n)
				}
			}
		}
		return list
	}
	if got := withheld(4, 5, 6, 665, 666); len(got) != 5 {
		t.Errorf("of keys each of which may hold a window, %v are withheld", got)
	}
	all := make([]int, 800)
	for i := range all {
		all[i] = i
	}
	if got := withheld(all...); len(got) != 0 {
		t.Errorf("of 800 keys with their numbers, %v are withheld", got)
	}
}

// TestCountsDown: a count just below the limit in a window that has just begun may be what is left, until a count of its
// kind rises; where one falls, all of its kind are what is left.
func TestCountsDown(t *testing.T) {
	begun := 59_900 * time.Millisecond
	for _, c := range []struct {
		n    int64
		ttl  time.Duration
		want bool
	}{{9, begun, true}, {8, begun, true}, {1, begun, false}, {12, begun, false}, {9, 20 * time.Second, false}, {0, begun, true}} {
		if r := lookAt(t, toldByMatch("rl:alice"), noon, c.n, c.ttl); r.Partial != c.want || slices.Contains(r.Notes, model.CountsDown) != c.want {
			t.Errorf("%d with %v to live: partial %v, %v", c.n, c.ttl, r.Partial, r.Notes)
		}
	}
	for _, c := range []struct {
		second int64
		want   bool
	}{{8, true}, {10, false}} {
		engine, alice, bob := &Engine{}, toldByMatch("rl:alice"), toldByMatch("rl:bob")
		lookWith(t, alice, noon, 9, begun, engine)
		lookWith(t, alice, noon.Add(time.Second), c.second, begun-time.Second, engine)
		if r := lookWith(t, bob, noon.Add(2*time.Second), 5, 30*time.Second, engine); r.Partial != c.want {
			t.Errorf("beside one that went from 9 to %d: partial %v, want %v", c.second, r.Partial, c.want)
		}
	}
}

// neverKnown are libraries without a decoder, on purpose: they stand for all others without one.
var neverKnown = []string{"graphql-rate-limit", "redis-bucket"}

// mistaken are fixtures whose keys are, value and expiry included, what another library writes.
var mistaken = map[string][]string{
	"ratescope":  {"counter-sliding-window"}, // a stream without running totals
	"redis-cell": {"throttled"},              // the same time in nanoseconds under the same expiry
}

// TestNoStranger: no key of any fixture is taken for another library's, and none of a library that no
// decoder knows, or of a program that limits nothing, is known.
func TestNoStranger(t *testing.T) {
	client := servertest.Start(t).Client()
	defer client.Close()
	ctx := context.Background()
	looked := 0
	for _, folder := range [...]string{"fixtures", "unrelated"} {
		eachFixture(t, folder, func(f *fixture) {
			never := folder == "unrelated" || slices.Contains(neverKnown, f.Library)
			allowed := slices.Concat(f.names(), mistaken[f.Library])
			for i, step := range f.Steps {
				restored := &restored{keys: step.Keys, now: limiter.Instant(math.Round(step.At * 1000))}
				keys := restored.renew(t, ctx, client)
				var finds []decode.Found
				undisturbed(t, ctx, client, restored, func(at limiter.Instant) {
					var err error
					clock := decode.Clock{Now: func() limiter.Instant { return at }}
					finds, _, err = decode.Classify(ctx, client, library.Recognizer(), keys, nil, clock)
					if err != nil {
						t.Fatal(err)
					}
				})
				for _, found := range finds {
					looked++
					if found.Evidence == model.Known && (never || !slices.Contains(allowed, found.Library)) {
						t.Errorf("%s/%s, step %d: %q is taken for a key of %s", f.Library, f.Scenario, i, found.Key, found.Library)
					}
				}
			}
		})
	}
	if looked < 500 {
		t.Errorf("only %d keys were looked at", looked)
	}
}
