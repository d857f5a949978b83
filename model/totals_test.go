package model_test

import (
	"math"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// TestTotalsFollowEveryChange asks for the totals before and after everything that changes them: they
// are kept while the gauges are as they were.
func TestTotalsFollowEveryChange(t *testing.T) {
	var b model.Board
	at := today
	check := func(what string, keys, throttled, near int) {
		t.Helper()
		for range 2 {
			if got := b.Totals(); got.Keys != keys || got.Throttled != throttled || got.Near != near || (got.Worst != nil) != (throttled > 0) {
				t.Errorf("%s: %d keys, %d throttled, %d near, worst %v; want %d, %d, %d", what, got.Keys, got.Throttled, got.Near, got.Worst != nil, keys, throttled, near)
			}
		}
	}
	check("an empty board", 0, 0, 0)
	b.Apply(live(at, logReading("full", at, 0, 10, 10), logReading("close", at, 0, 9, 10), logReading("calm", at, 0, 1, 10)))
	check("three keys", 3, 1, 1)
	frozen := b.Freeze(at)
	if got := b.AsOf(at.Add(-time.Minute), nil).Totals(); got.Throttled != 0 || got.Keys != 3 {
		t.Errorf("a minute before there were %d keys, %d throttled; want 3, 0", got.Keys, got.Throttled)
	}
	since := at
	at = at.Add(time.Second)
	with := live(at, logReading("close", at, since, 10, 10))
	with.Health = &model.Health{At: at} // which samples the totals from before
	b.Apply(with)
	check("one more is full", 3, 2, 0)
	if got := frozen.Totals(); got.Throttled != 1 || got.Worst == nil || got.Worst != frozen.Key(got.Worst.Reading.Key) {
		t.Errorf("the frozen board has %d throttled, the worst is its own key: %t", got.Throttled, got.Worst == frozen.Key("full"))
	}
	b.Refresh(at.Add(20 * time.Second))
	check("the windows have passed", 3, 0, 0)
	b.Refresh(at)
	check("back at the moment", 3, 2, 0)
	left := live(at)
	left.LeftOut = []string{"full"}
	b.Apply(left)
	check("one is left out", 2, 1, 0)
	var other model.Board
	other.Apply(live(at, logReading("calm", at, 0, 1, 10)))
	b.Apply(other.Anew(at))
	check("another board", 1, 0, 0)
}

// TestTotalsOfWhatIsCountedBeyondTheLimit: of 137 requests that a window of 100 counts, 100 were
// admitted and 37 denied.
func TestTotalsOfWhatIsCountedBeyondTheLimit(t *testing.T) {
	r := logReading("over", today, 0, 0, 100)
	r.Target.Algorithm, r.Target.Convention.Alignment = limiter.FixedWindow, convention.FirstRequest
	r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: today.Add(-r.Target.Window / 2), Current: 137}
	r.Denied = model.Count{Known: true, N: 37}
	r.ExactKnown, r.PreviousKnown = false, false
	var b model.Board
	b.Apply(live(today, r))
	w := r.Target.Window.Seconds()
	if got := b.Totals(); math.Abs(got.Admitted-100/(w/2)) > 1e-5 || got.Denied != 0 || got.DeniedKnown != 0 || got.Recorded != 1 {
		t.Errorf("%g admitted and %g denied a second, want %g and none that is known yet", got.Admitted, got.Denied, 100/(w/2))
	}
	k := b.Key("over")
	if got := k.Admitted(k.Gauge.Rate); math.Abs(got-100/(w/2)) > 1e-5 {
		t.Errorf("of the rate of the window %g were admitted, want %g", got, 100/(w/2))
	}
	if hot := b.Hottest(1); len(hot) != 1 || math.Abs(hot[0].Rate.V-100/(w/2)) > 1e-5 {
		t.Errorf("the hottest is %+v, want the rate of what was admitted", hot)
	}
	r.Target.Evidence = model.Likely
	b.Apply(live(today, r))
	if got := b.Totals(); got.Likely != 1 || got.Above != 1 || got.Throttled != 0 {
		t.Errorf("of a likely key above its limit %d are likely, %d of them above it, and %d throttled", got.Likely, got.Above, got.Throttled)
	}
}

// TestTotalsOfAnInferredWindow has a counter that counted 300 before it was seen, with a window that
// only its expiry tells: what came then is not of the latest seconds.
func TestTotalsOfAnInferredWindow(t *testing.T) {
	at, since, count := today, limiter.Instant(0), int64(300)
	var b model.Board
	for range 40 {
		r := logReading("counter", at, 0, 0, 100)
		r.Target.Algorithm, r.Target.Convention.Alignment, r.Target.LimitKnown = limiter.FixedWindow, convention.FirstRequest, false
		r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: today, Current: count}
		r.ExactKnown, r.PreviousKnown, r.Notes, r.Since = false, false, []model.Note{model.WindowInferred}, since
		if since != 0 {
			r.Arrivals = []model.Arrival{{At: at, N: 1}}
		}
		b.Apply(live(at, r))
		if got := b.Totals().Admitted; got > 5 {
			t.Fatalf("%v after the first reading %g requests a second were admitted; there are four", at.Sub(today), got)
		}
		since, at, count = at, at.Add(250*time.Millisecond), count+1
	}
	if got := b.Totals().Admitted; math.Abs(got-4) > 1 {
		t.Errorf("%g requests a second were admitted, want 4", got)
	}
}

// TestGoneKeysAreNoneOfTheOthers: a key that has left the server is neither throttled nor at ease.
func TestGoneKeysAreNoneOfTheOthers(t *testing.T) {
	var b model.Board
	b.Apply(live(today, logReading("full", today, 0, 10, 10), logReading("calm", today, 0, 1, 10)))
	left := live(today.Add(time.Second))
	left.Gone = []string{"full", "calm"}
	b.Apply(left)
	b.Refresh(left.At)
	if got := b.Totals(); got.Keys != 2 || got.Gone != 2 || got.Throttled != 0 || got.Admitted != 0 {
		t.Errorf("the totals of two keys that left are %+v", got)
	}
}

// TestTotalsBefore1970: the rate of a key is kept also where a recording tells of instants before 1970.
func TestTotalsBefore1970(t *testing.T) {
	var b model.Board
	for _, at := range []limiter.Instant{-10e6, -5e6, 3e6} {
		b.Apply(model.Batch{At: at, Readings: []model.Reading{{Key: "k", At: at, Arrivals: []model.Arrival{{At: at, N: 1}}}}})
	}
}
