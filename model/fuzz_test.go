package model_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// FuzzApply feeds a board with readings that no server should ever cause.
func FuzzApply(f *testing.F) {
	f.Add([]byte("a reading of nothing much"))
	f.Add([]byte{0, 0xff, 0x7f, 1, 2, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 9, 9, 9})
	f.Add([]byte(strings.Repeat("\x80\x00\xfe\x01key", 80)))
	f.Fuzz(func(t *testing.T, in []byte) {
		h := hostile{in: in}
		var b model.Board
		for range 6 {
			b.Apply(h.batch())
			if h.byte()%3 == 0 {
				b.Refresh(h.instant())
			}
			if h.byte()%4 == 0 {
				b.Freeze(h.instant()).Totals()
			}
			b.Mark(model.Fired{Key: h.key(), At: h.instant(), Outcome: model.Outcome(h.byte() % 4)})
			if total := b.Totals(); total.Keys != b.Len() || total.Admitted != total.Admitted || total.Denied != total.Denied {
				t.Fatalf("the totals are %+v", total)
			}
			for _, k := range b.Select(model.View{Sort: model.Sort(h.byte()), Reverse: h.byte()%2 == 0}) {
				if g := k.Gauge; g.Utilization != g.Utilization || g.Rate != g.Rate || g.Estimate != g.Estimate || g.Weight != g.Weight {
					t.Fatalf("%q has a number that is none: %+v", k.Reading.Key, g)
				}
				k.Timeline.Columns(make([]model.Bin, 50), k.Timeline.Column(h.instant(), 3), 3)
				k.Reading.Forecast(h.instant(), int(h.byte()), h.number())
			}
		}
	})
}

// hostile reads whatever it is asked for from bytes, and zeros after their end.
type hostile struct{ in []byte }

func (h *hostile) byte() byte {
	if len(h.in) == 0 {
		return 0
	}
	b := h.in[0]
	h.in = h.in[1:]
	return b
}

// number returns something small, something huge, or something negative.
func (h *hostile) number() int64 {
	kind, v := h.byte(), int64(0)
	for range kind % 9 {
		v = v<<8 | int64(h.byte())
	}
	if kind&0x80 != 0 {
		v = -v
	}
	return v
}

func (h *hostile) instant() limiter.Instant {
	if h.byte()%3 == 0 {
		return limiter.Instant(h.number())
	}
	return today + limiter.Instant(h.number()%100_000_000)
}

func (h *hostile) key() string { return string("ab\x1b\xff"[h.byte()%4]) }

func (h *hostile) batch() model.Batch {
	b := model.Batch{At: h.instant(), Server: model.Server{Link: model.Link(h.byte() % 3)}}
	for range h.byte() % 4 {
		b.Readings = append(b.Readings, h.reading())
	}
	if h.byte()%3 == 0 {
		b.Gone = []string{h.key()}
	}
	if h.byte()%3 == 0 {
		next := model.Batch{At: h.instant(), Server: b.Server, Readings: []model.Reading{h.reading()}, Gone: []string{h.key()}}
		b.Merge(next)
	}
	return b
}

func (h *hostile) reading() model.Reading {
	w := time.Duration(h.number())
	r := model.Reading{
		Key: h.key(), At: h.instant(), Since: h.instant(), Type: "zset",
		Target: model.Target{
			Algorithm: limiter.Algorithm(h.byte() % 9), LimitKnown: h.byte()%2 == 0, Window: w,
			Limit:      limiter.Limit{Count: h.number(), Window: w, Burst: h.number()},
			Convention: limiter.Convention{Edge: convention.Edge(h.byte() % 2), Alignment: convention.Alignment(h.byte() % 2), Rounding: convention.Rounding(h.byte() % 3), Rule: convention.Rule(h.byte() % 2), Denied: convention.Denied(h.byte() % 2), Refill: convention.Refill(h.byte() % 2)},
		},
		ExactKnown: h.byte()%2 == 0, PreviousKnown: h.byte()%2 == 0, Denied: model.Count{Known: h.byte()%2 == 0, N: h.number()},
	}
	r.State = limiter.State{
		Algorithm: r.Target.Algorithm, Start: h.instant(), Previous: h.number(), Current: h.number(), PreviousStart: h.instant(),
		TAT: h.instant(), Level: float64(h.number()), Filled: h.instant(), Part: h.number(), Parts: h.number(), BlockedUntil: h.instant(),
	}
	for range h.byte() % 5 {
		r.State.Log = append(r.State.Log, limiter.Entry{At: h.instant(), Count: h.number()})
		r.Arrivals = append(r.Arrivals, model.Arrival{At: h.instant(), N: h.number(), Denied: h.byte()%2 == 0})
		r.Trace = append(r.Trace, model.Level{Since: h.instant(), At: h.instant(), Used: h.number()})
	}
	return r
}

// FuzzAnswer reads the headers of an application: no wait is negative, and no count.
func FuzzAnswer(f *testing.F) {
	f.Add(429, "120", `"a";r=5;t=20, "b";r=0;t=1`, "1767322800", "Fri, 02 Jan 2026 03:00:00 GMT")
	f.Add(503, "Fri, 02 Jan 2026 03:00:09 GMT", ";;r=,t==", "1e300", "")
	f.Fuzz(func(t *testing.T, status int, retry, limit, reset, date string) {
		h := http.Header{"Retry-After": {retry}, "Ratelimit": {limit}, "X-Ratelimit-Reset": {reset}, "X-Ratelimit-Remaining": {limit}, "Date": {date}}
		a := model.ReadAnswer(status, h, time.Unix(1_767_322_800, 0))
		if a.RetryAfter.D < 0 || a.Reset.D < 0 || a.Remaining.N < 0 {
			t.Errorf("read as %+v", a)
		}
	})
}

// FuzzShape reads what was given for --shape, and what it reads it writes so that it is read again.
func FuzzShape(f *testing.F) {
	for _, s := range []string{"", "even", "poisson:7", "ramp:50/s:30s", "on-off:2s:8s", "ramp:1/1ns:-1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := model.ParseShape(text)
		if err != nil {
			return
		}
		o := model.Order{N: 20, Rate: 5, Cost: 1, Shape: s}
		if o.Check() != nil {
			return
		}
		n, before := 0, time.Duration(0)
		for at := range o.Due() {
			if at < before {
				t.Fatalf("%q: request %d is due at %v, after one at %v", text, n, at, before)
			}
			if n, before = n+1, at; n > 20 {
				t.Fatalf("%q: more than 20 requests", text)
			}
		}
		again, err := model.ParseShape(s.String())
		if err != nil || again.Kind != s.Kind || again.On != s.On || again.Off != s.Off || again.Over != s.Over {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, s.String(), again, err)
		}
	})
}
