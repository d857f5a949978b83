package model_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// charged is a counter of a minute that counts beyond its limit of 60, at which 9.6 requests a second arrive.
type charged struct {
	begun limiter.Instant // of the requests
	last  limiter.Instant // of the reading before
}

const chargedRate = 9.6

// at returns how many requests had come at an instant.
func (c *charged) at(now limiter.Instant) int64 {
	return int64(max(now.Sub(c.begun), 0).Seconds() * chargedRate)
}

// read returns the reading at an instant, and whether requests have been denied since the window began.
func (c *charged) read(now limiter.Instant) (r model.Reading, denies bool) {
	const limit = 60
	start := now.Floor(time.Minute)
	used := c.at(now) - c.at(max(start, c.begun))
	r = logReading("rl:hot", now, 0, 0, limit)
	r.Target.Algorithm, r.Target.Convention.Alignment, r.Target.Window, r.Target.Limit.Window = limiter.FixedWindow, convention.Epoch, time.Minute, time.Minute
	r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: start, Current: used}
	r.ExactKnown, r.PreviousKnown, r.Since, r.Arrivals = false, false, c.last, nil
	r.Denied = model.Count{Known: true, N: max(used-limit, 0)}
	if c.last > 0 {
		before := int64(0)
		if c.last >= start {
			before = c.at(c.last) - c.at(max(start, c.begun))
		}
		for _, a := range []model.Arrival{{At: now, N: min(used, limit) - min(before, limit)}, {At: now, N: max(used-limit, 0) - max(before-limit, 0), Denied: true}} {
			if a.N > 0 {
				r.Arrivals = append(r.Arrivals, a)
			}
		}
	}
	c.last = now
	return r, used > limit
}

// TestDeniedASecond holds that 9.6 denied requests a second are shown as such, in any phase of a window and after its change: by the
// gauge and the totals; and that the order by rate counts them.
func TestDeniedASecond(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second} {
		for _, phase := range []time.Duration{0, 7300 * time.Millisecond, 31 * time.Second, 58 * time.Second} {
			var b model.Board
			begin := today.Floor(time.Minute).Add(phase)
			c := charged{begun: begin}
			var began, ended limiter.Instant
			for at := begin; at < begin.Add(150*time.Second); at = at.Add(every) {
				r, denies := c.read(at)
				calm := logReading("calm", at, 0, 10, 1000)
				calm.Since, calm.Arrivals = r.Since, nil
				b.Apply(live(at, r, calm))
				if switched := denies != (began > 0); switched {
					began, ended = 0, at
					if denies {
						began = at
					}
				}
				b.Refresh(at)
				g, settled := b.Key("rl:hot").Gauge, at.Sub(max(began, begin)) >= 2*time.Second
				lasts := began > 0 && settled
				if held := began == 0 && ended > 0 && at.Sub(ended) < time.Second; (lasts || held) && (!g.DeniedPerSec.Known || g.DeniedPerSec.V < 8 || g.DeniedPerSec.V > 11) {
					t.Errorf("every %v from %v: at %v %g a second are denied, known %v", every, phase, at.Sub(begin), g.DeniedPerSec.V, g.DeniedPerSec.Known)
				}
				if total := b.Totals().Denied; g.DeniedPerSec.Known && (total-g.DeniedPerSec.V > 0.001 || g.DeniedPerSec.V-total > 0.001) {
					t.Errorf("in all %g a second are denied, of the key %g", total, g.DeniedPerSec.V)
				}
				if first := b.Select(model.View{Sort: model.ByRate})[0]; lasts && first.Reading.Key != "rl:hot" {
					t.Errorf("at %v the order by rate begins with %s", at.Sub(begin), first.Reading.Key)
				}
			}
		}
	}
}

// TestWhatCameUnwatchedIsAGap of the requests a second that were sampled: what was counted before the start, and what came while the
// server was away, came at no known time.
func TestWhatCameUnwatchedIsAGap(t *testing.T) {
	var b model.Board
	begin := today.Floor(time.Minute).Add(6 * time.Second)
	for half := range 80 {
		at := begin.Add(time.Duration(half) * 500 * time.Millisecond)
		if half >= 30 && half < 60 {
			b.Apply(down(begin.Add(15 * time.Second)))
			continue
		}
		since, n := at.Add(-500*time.Millisecond), int64(1)
		switch half {
		case 0:
			since = 0
		case 60:
			since, n = begin.Add(14500*time.Millisecond), 31
		}
		r := logReading("counter", at, since, 0, 1000)
		r.Target.Algorithm, r.Target.Window, r.Target.Limit.Window = limiter.FixedWindow, time.Hour, time.Hour
		r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: begin.Add(-time.Second), Current: 500 + int64(half)}
		r.ExactKnown, r.PreviousKnown, r.Arrivals = false, false, []model.Arrival{{At: at, N: n}}
		batch := live(at, r)
		batch.Health = &model.Health{At: at}
		b.Apply(batch)
	}
	known := 0
	for _, s := range b.HealthSamples() {
		settled := s.At.Sub(begin) > 2*time.Second && s.At.Sub(begin) < 30*time.Second || s.At.Sub(begin) > 33*time.Second
		if s.Admitted.Known {
			known++
		}
		if s.Admitted.Known && (s.Admitted.V < 1.5 || s.Admitted.V > 2.5) || settled && !s.Admitted.Known {
			t.Errorf("%v after the start: %+v, want 2 a second or a gap", s.At.Sub(begin), s.Admitted)
		}
	}
	if known < 30 {
		t.Errorf("only %d samples are known", known)
	}
}
