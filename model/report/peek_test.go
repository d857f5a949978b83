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
