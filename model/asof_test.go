package model_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestThePastIsAsItWas: at 200 moments of the past of a counter that counts beyond its limit, a log that is freed, and a key that
// expires, the board says what it said at a moment of the same bins, or that it is not known.
func TestThePastIsAsItWas(t *testing.T) {
	type said struct {
		at    limiter.Instant
		used  model.Count
		state model.KeyState
	}
	const window = 20 * time.Second
	target := func(a limiter.Algorithm) model.Target {
		return model.Target{Algorithm: a, Limit: limiter.Limit{Count: 20, Window: window}, LimitKnown: true, Window: window}
	}
	var board model.Board
	was := map[string][]said{}
	log, at := []limiter.Entry{}, today.Floor(window)
	count := int64(0)
	for i := range 1200 {
		at = at.Add(100 * time.Millisecond)
		since := at.Add(-100 * time.Millisecond)
		if at.Floor(window) > since.Floor(window) {
			count = 0
		}
		hit := model.Arrival{At: at, N: 1, Denied: count >= 20}
		if count++; i%400 == 250 {
			log = nil
		}
		for len(log) > 0 && log[0].At <= at.Add(-window) {
			log = log[1:]
		}
		counter := model.Reading{Key: "counter", Type: "string", At: at, Since: since, TTL: window, Target: target(limiter.FixedWindow),
			State:    limiter.State{Algorithm: limiter.FixedWindow, Start: at.Floor(window), Current: count},
			Arrivals: []model.Arrival{hit}, Denied: model.Count{Known: true, N: max(count-20, 0)}}
		logs := model.Reading{Key: "log", Type: "zset", At: at, Since: since, TTL: window, Target: target(limiter.SlidingLog), ExactKnown: true}
		if i%4 == 0 && len(log) < 20 {
			log = append(log, limiter.Entry{At: at, Count: 1})
			logs.Arrivals = []model.Arrival{{At: at, N: 1}}
		}
		logs.State = limiter.State{Algorithm: limiter.SlidingLog, Log: append([]limiter.Entry{}, log...)}
		brief := counter
		brief.Key = "brief"
		batch := live(at, counter, logs)
		if i%600 < 500 {
			batch.Readings = append(batch.Readings, brief)
		} else {
			batch.Gone = []string{"brief"}
		}
		board.Apply(batch)
		board.Refresh(at)
		for key, k := range board.Keys() {
			was[key] = append(was[key], said{at, k.Gauge.Used, k.State(at)})
		}
	}
	unknown := 0
	for i := range 200 {
		then := at.Add(-time.Duration(i) * 450 * time.Millisecond)
		past := board.AsOf(then, nil)
		for key, k := range past.Keys() {
			state, fits := k.State(then), false
			if g := k.Reading.Gauge(then.Add(time.Second)); k.Reading.At == then && then < at && (g.NextKnown || g.Used.Known) {
				t.Fatalf("%v ago it is foretold of %s by what it held later: %+v", at.Sub(then), key, g)
			}
			if !k.Gauge.NextKnown || !k.Gauge.Used.Known || k.Gone {
				unknown++
				continue
			}
			for _, s := range was[key] {
				fits = fits || s.at.Sub(then).Abs() <= 2*window/model.BinsPerWindow+100*time.Millisecond && s.used == k.Gauge.Used && s.state == state
			}
			if !fits {
				t.Errorf("%v ago %s has used %+v and is %v", at.Sub(then), key, k.Gauge.Used, state)
			}
		}
	}
	if unknown > 550 { // that a key was throttled only its readings tell
		t.Errorf("%d of 600 are not known", unknown)
	}
}

// TestThePastOfALogBeginsWithItsFirstReading: a log that was full when it was first read was throttled then, and until its oldest
// entry left, although nothing was watched for a whole window.
func TestThePastOfALogBeginsWithItsFirstReading(t *testing.T) {
	const window = 60 * time.Second
	begin := today.Floor(window)
	var log []limiter.Entry
	var arrivals []model.Arrival
	for i := range 5 {
		at := begin.Add(time.Duration(i-12) * 4 * time.Second)
		log = append(log, limiter.Entry{At: at, Count: 1})
		arrivals = append(arrivals, model.Arrival{At: at, N: 1})
	}
	var board, kept model.Board
	for i := range 20 {
		at := begin.Add(time.Duration(i) * time.Second)
		r := model.Reading{Key: "log", Type: "zset", At: at, TTL: window, ExactKnown: true, Denied: model.Count{Known: true, N: 3},
			Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 5, Window: window}, LimitKnown: true, Window: window}}
		if i == 0 {
			r.Arrivals = arrivals
		} else {
			r.Since = at.Add(-time.Second)
		}
		for len(log) > 0 && log[0].At <= at.Add(-window) {
			log = log[1:]
		}
		r.State = limiter.State{Algorithm: limiter.SlidingLog, Log: append([]limiter.Entry{}, log...)}
		board.Apply(live(at, r))
		board.Refresh(at)
		if i <= 5 {
			kept.Apply(live(at, r))
		}
	}
	then := board.AsOf(begin.Add(5*time.Second), &kept).Key("log")
	if g := &then.Gauge; g.Used != (model.Count{Known: true, N: 5}) || !g.Throttled() || g.Next < 5*time.Second || g.Next > 8*time.Second ||
		g.DeniedInW.N != 3 {
		t.Errorf("five seconds after the start %+v, want 5 used, a wait of 7 s, and 3 denied", g)
	}
}

// TestThePastHasNoLaterSamples: the figures of the server are those up to the moment of the past.
func TestThePastHasNoLaterSamples(t *testing.T) {
	var board model.Board
	for i := range 10 {
		at := today.Add(time.Duration(i) * time.Second)
		batch := live(at)
		batch.Health = &model.Health{At: at}
		board.Apply(batch)
	}
	then := today.Add(4 * time.Second)
	if all, past := board.HealthSamples(), board.AsOf(then, nil).HealthSamples(); len(all) != 10 || len(past) != 5 || past[4].At != then {
		t.Errorf("%d samples, and %d of the past, want 10 and the first 5", len(all), len(past))
	}
}
