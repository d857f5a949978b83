package model_test

import (
	"math"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestRecentRate feeds a board one reading a quarter of a second: the recent rate follows
// the traffic within RecentSpan, where that of a long window remembers it for long.
func TestRecentRate(t *testing.T) {
	const window = 5 * time.Minute
	var b model.Board
	at := limiter.InstantOf(time.Unix(1_700_000_000, 0))
	var log []limiter.Entry
	last := limiter.Instant(0)
	run := func(d time.Duration, perQuarter int64) model.Gauge {
		for end := at.Add(d); at < end; at = at.Add(250 * time.Millisecond) {
			r := model.Reading{
				Key: "k", Type: "zset", At: at, Since: last, ExactKnown: true, PreviousKnown: true,
				Target: model.Target{Algorithm: limiter.SlidingLog, Window: window, Limit: limiter.Limit{Count: 1000, Window: window}, LimitKnown: true},
			}
			if perQuarter > 0 {
				log = append(log, limiter.Entry{At: at, Count: perQuarter})
				r.Arrivals = []model.Arrival{{At: at, N: perQuarter}}
			}
			r.State = limiter.State{Algorithm: limiter.SlidingLog, Log: log}
			b.Apply(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
			last = at
		}
		b.Refresh(at)
		return b.Key("k").Gauge
	}
	if g := run(time.Second, 5); g.RecentKnown {
		t.Errorf("after a second the recent rate is told: %v", g.Recent)
	}
	if g := run(30*time.Second, 5); !g.RecentKnown || math.Abs(g.Recent-20) > 2.5 {
		t.Errorf("20/s are told as %v, known %v", g.Recent, g.RecentKnown)
	}
	if g := run(model.RecentSpan+2*time.Second, 0); g.Recent != 0 || !g.RecentKnown || g.Rate == 0 {
		t.Errorf("after the traffic: recent %v, known %v, over the window %v", g.Recent, g.RecentKnown, g.Rate)
	}
	if g := run(3*time.Second, 25); math.Abs(g.Recent-30) > 5 {
		t.Errorf("three seconds of 100/s in ten are told as %v", g.Recent)
	}
	if got := b.Select(model.View{Sort: model.ByRate}); len(got) != 1 {
		t.Errorf("%d keys", len(got))
	}
}

// TestRecentRateLeavesOutThePast watches 20 units a second that also came before the first reading.
// A reading in between gives another window, for which its source reports all of them again.
func TestRecentRateLeavesOutThePast(t *testing.T) {
	at := limiter.InstantOf(time.Unix(1_700_000_000, 0))
	begun := at
	var b model.Board
	var all []model.Arrival
	for came := at.Add(-30 * time.Second); came <= at; came = came.Add(50 * time.Millisecond) {
		all = append(all, model.Arrival{At: came, N: 1})
	}
	window, since, fresh := time.Minute, limiter.Instant(0), all
	for range 12 {
		b.Apply(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{{
			Key: "k", Type: "zset", At: at, Since: since, Arrivals: fresh, ExactKnown: true, PreviousKnown: true,
			Target: model.Target{Algorithm: limiter.SlidingLog, Window: window, Limit: limiter.Limit{Count: 1000, Window: window}, LimitKnown: true},
		}}})
		b.Refresh(at)
		if g := b.Key("k").Gauge; g.RecentKnown && math.Abs(g.Recent-20) > 2 {
			t.Errorf("20/s are told as %v, %v after the first reading", g.Recent, at.Sub(begun))
		}
		since = at
		fresh = nil
		for range 10 {
			at = at.Add(50 * time.Millisecond)
			fresh = append(fresh, model.Arrival{At: at, N: 1})
		}
		all = append(all, fresh...)
		if at.Sub(begun) == 3*time.Second {
			window, fresh = 30*time.Second, all
		}
	}
}
