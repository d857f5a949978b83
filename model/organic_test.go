package model

import (
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestOrganic fires between the requests of others: without what was fired, every figure is that of
// a twin at which nothing was fired.
func TestOrganic(t *testing.T) {
	const step = 200 * time.Millisecond
	limit := limiter.Limit{Count: 1000, Window: 10 * time.Second}
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			start := limiter.InstantOf(time.Unix(1_700_000_001, 0))
			target := Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}
			var both, alone Board
			with, without := limiter.State{Algorithm: a}, limiter.State{Algorithm: a}
			for n := range 100 {
				at := start.Add(time.Duration(n) * step)
				var arrived, own []Arrival
				if n%3 == 0 {
					with.Take(at, limit, limiter.Convention{}, 1)
					without.Take(at, limit, limiter.Convention{}, 1)
					arrived, own = append(arrived, Arrival{At: at, N: 1}), append(own, Arrival{At: at, N: 1})
				}
				var fired []Fired
				if n%4 == 1 {
					sent := at.Add(7 * time.Millisecond)
					d := with.Take(sent, limit, limiter.Convention{}, 2)
					fired = append(fired, Fired{Key: "k", Cost: 2, At: sent, Decision: d})
					arrived = append(arrived, Arrival{At: sent, N: 2})
				}
				at = at.Add(step / 2)
				read := func(s *limiter.State, list []Arrival) Batch {
					since := at.Add(-step)
					if n == 0 {
						since = 0
					}
					return Batch{At: at, Server: Server{Link: Live}, Readings: []Reading{{
						Key: "k", Type: "x", At: at, Since: since, Target: target, State: s.Clone(), PreviousKnown: true, Arrivals: list,
					}}}
				}
				b := read(&with, arrived)
				b.Fired = fired
				both.Apply(b)
				alone.Apply(read(&without, own))
				both.Refresh(at)
				alone.Refresh(at)
				got, s := both.Organic(at)
				k, twin := got.Key("k"), alone.Key("k")
				if n < 2 {
					continue
				}
				if s.Keys != 1 || s.Kept != 0 || !slices.Contains(k.Reading.Notes, WithoutInjected) {
					t.Fatalf("step %d: %+v, notes %q", n, s, k.Reading.Notes)
				}
				x, y := k.Gauge, twin.Gauge
				if x.Used != y.Used || x.Remaining != y.Remaining || x.Rate != y.Rate || x.Recent != y.Recent || x.Next != y.Next || x.Estimate != y.Estimate || x.Current != y.Current {
					t.Fatalf("step %d: without what was fired\n%+v\nand where nothing was fired\n%+v", n, x, y)
				}
				bins, of := k.Timeline.Between(start, at), twin.Timeline.Between(start, at)
				if bins.Admitted != of.Admitted || bins.InjectedAdmitted != 0 {
					t.Fatalf("step %d: %+v in the timeline, want %+v", n, bins, of)
				}
				if live := both.Key("k"); live.Gauge.Used.N < x.Used.N || slices.Contains(live.Reading.Notes, WithoutInjected) || live.Timeline.Between(start, at).InjectedAdmitted == 0 {
					t.Fatalf("step %d: the board itself was changed: %+v", n, live.Gauge.Used)
				}
			}
		})
	}
}

// TestOrganicForgets: a counter that fell within its window was freed, and what was fired before
// cannot be told apart for two windows; and the number of remembered requests is bounded.
func TestOrganicForgets(t *testing.T) {
	limit := limiter.Limit{Count: 1000, Window: 10 * time.Second}
	target := Target{Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true, Window: limit.Window}
	start := limiter.InstantOf(time.Unix(1_700_000_000, 0))
	var b Board
	read := func(at limiter.Instant, current int64, fired ...Fired) {
		b.Apply(Batch{At: at, Server: Server{Link: Live}, Fired: fired, Readings: []Reading{{
			Key: "k", Type: "string", At: at, Since: start, Target: target, State: limiter.State{Algorithm: target.Algorithm, Start: at.Floor(limit.Window), Current: current},
		}}})
	}
	read(start.Add(time.Second), 8, Fired{Key: "k", Cost: 1, At: start.Add(time.Second)})
	if _, s := b.Organic(start.Add(time.Second)); s.Keys != 1 {
		t.Errorf("%+v before", s)
	}
	read(start.Add(2*time.Second), 3)
	if _, s := b.Organic(start.Add(2 * time.Second)); s.Kept != 1 {
		t.Errorf("%+v after the counter fell", s)
	}
	at := start.Add(25 * time.Second)
	read(at, 1)
	if _, s := b.Organic(at); s.Kept != 0 {
		t.Errorf("%+v after two windows", s)
	}
	for range maxInjections + 5 {
		b.Mark(Fired{Key: "k", Cost: 1, At: at})
	}
	if k := b.Key("k"); len(k.injected) != maxInjections || k.forgotten != at {
		t.Errorf("%d are remembered, forgotten %v", len(k.injected), k.forgotten)
	}
}
