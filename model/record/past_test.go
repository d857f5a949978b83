package record_test

import (
	"math"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui/tuitest"
)

// TestThePastIsWhatWasSeen: the totals of a moment, and the figures and the state of every key, are the same ten seconds and a minute
// later as they were when that moment was now.
func TestThePastIsWhatWasSeen(t *testing.T) {
	tenths := func(v float64) float64 { return math.Round(v*10) / 10 } // as it is shown
	type seen struct {
		at     limiter.Instant
		totals model.Totals
		gauges map[string]model.Gauge
		states map[string]model.KeyState
	}
	look := func(b *model.Board) seen {
		s := seen{b.At, b.Totals(), map[string]model.Gauge{}, map[string]model.KeyState{}}
		s.totals.Worst, s.totals.Denied = nil, tenths(s.totals.Denied)
		for name, k := range b.Keys() {
			if !k.Unborn {
				if s.states[name] = k.State(b.At); s.states[name] == model.Silent { // to a column of the timeline
					s.states[name] = model.OKState
				}
				k.Gauge.DeniedPerSec.V = tenths(k.Gauge.DeniedPerSec.V)
				s.gauges[name] = k.Gauge
			}
		}
		return s
	}
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed := tuitest.NewFeed(begin)
	crowd := newCrowd(60, 400, false)
	for name, next := range map[string]func(i int) model.Batch{
		"feed":  func(i int) model.Batch { return feed.Advance(begin.Add(time.Duration(i) * tuitest.Refresh)) },
		"crowd": func(int) model.Batch { return crowd.next() },
	} {
		t.Run(name, func(t *testing.T) {
			tail := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 64<<20)
			live := &model.Board{}
			var moments []seen
			looks, throttled, denied := 0, 0, 0
			for i := range int(4 * time.Minute / tuitest.Refresh) {
				b := next(i)
				if err := tail.Write(b); err != nil {
					t.Fatal(err)
				}
				live.Apply(b)
				live.Refresh(live.At)
				if i%35 == 0 {
					moments = append(moments, look(live))
				}
				for _, was := range moments {
					age := live.At.Sub(was.at).Round(tuitest.Refresh)
					if i < 100 || age != 10*time.Second && age != time.Minute {
						continue
					}
					r, err := tail.From(was.at.Add(-30 * time.Second))
					if err != nil {
						t.Fatal(err)
					}
					kept, err := r.BoardAt(was.at, was.at.Add(-30*time.Second))
					if err != nil {
						t.Fatal(err)
					}
					is := look(live.AsOf(was.at, kept))
					if is.totals != was.totals {
						t.Errorf("%v later the totals are\n%+v, and were\n%+v", age, is.totals, was.totals)
					}
					for key, g := range was.gauges {
						if now := is.gauges[key]; math.Abs(now.Rate-g.Rate) < 0.06 { // of keys without counts: to a column of the timeline
							now.Rate = g.Rate
							is.gauges[key] = now
						}
						if is.gauges[key] != was.gauges[key] || is.states[key] != was.states[key] {
							t.Errorf("%v later %s is %v with\n%+v, and was %v with\n%+v", age, key, is.states[key], is.gauges[key], was.states[key], was.gauges[key])
							break
						}
					}
					looks, throttled = looks+1, throttled+was.totals.Throttled
					if was.totals.Denied > 0 {
						denied++
					}
				}
			}
			if looks < 40 || throttled == 0 {
				t.Errorf("%d looks saw %d throttled keys, and denials in %d", looks, throttled, denied)
			}
		})
	}
}
