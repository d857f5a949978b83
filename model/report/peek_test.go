package report_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/report"
)

// TestPeekAtACounterWithoutExpiry: that it never frees is said with the reason and the remedy.
func TestPeekAtACounterWithoutExpiry(t *testing.T) {
	at := limiter.Instant(1_795_000_000_000_000)
	r := model.Reading{
		Key: "stuck:login", Type: "string", At: at, TTL: model.Forever, Notes: []model.Note{model.NoExpiry},
		State:  limiter.State{Algorithm: limiter.FixedWindow, Start: at, Current: 150},
		Target: model.Target{Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Minute}, LimitKnown: true, Window: time.Minute, Convention: limiter.Convention{Alignment: convention.FirstRequest}},
	}
	p := report.PeekOf(&r, at, 1, report.Options{})
	if p.Allowed == nil || *p.Allowed || p.Next == nil || *p.Next != -1 || p.Rate != nil {
		t.Errorf("as JSON: %+v", p)
	}
	for _, want := range []string{"no waiting helps: 150 of 100 used, and the counter has no expiry: set the one that it should have with PEXPIRE", "next slot  never: no expiry", "as new     never: no expiry"} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, p)
		}
	}
}

// TestPeekAtABurst: what fits at once is the burst, below the limit and above it.
func TestPeekAtABurst(t *testing.T) {
	at := limiter.Instant(1_795_000_000_000_000)
	for _, c := range []struct {
		burst, used, cost int64
		want              string
	}{
		{10, 0, 20, "a request that costs 20 would be denied, and no waiting helps: one costs more than the 10 that fit at once"},
		{10, 4, 1, "admitted now: 4 of 10 at once"},
		{200, 150, 1, "admitted now: 150 of 200 at once"},
		{0, 50, 1, "admitted now: 50 of 100 used"},
		{0, 50, 101, "one costs more than the 100 that fit at once"},
	} {
		limit := limiter.Limit{Count: 100, Window: time.Minute, Burst: c.burst}
		r := model.Reading{Key: "k", Type: "string", At: at, State: limiter.State{Algorithm: limiter.GCRA},
			Target: model.Target{Algorithm: limiter.GCRA, Limit: limit, LimitKnown: true, Window: limit.Window}}
		r.State.TAT = at.Add(time.Duration(c.used) * limit.Window / 100)
		if got := report.PeekOf(&r, at, c.cost, report.Options{}).String(); !strings.Contains(got, c.want) {
			t.Errorf("%d used of a burst of %d: it does not say %q:\n%s", c.used, c.burst, c.want, got)
		}
	}
}
