package session_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/session"
)

func TestTermsAreReadWholeOrNotAtAll(t *testing.T) {
	as := model.Target{Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 5, Window: time.Second}, LimitKnown: true, Window: time.Second}
	for text, want := range map[string]string{
		"100/1m":                      "gcra 100/1m",
		"sliding-log":                 "sliding-log 5/1s",
		"token-bucket 10/1s burst 20": "token-bucket 10/1s burst 20",
		"burst 7":                     "gcra 5/1s burst 7",
		"":                            "",
		"sliding-log 9999/1mx":        "",
		"sliding-log x":               "",
		"10/1s burst":                 "",
		"10/1s burst many":            "",
		"10/1s 20":                    "",
	} {
		terms, ok := session.ParseTerms(text, as)
		if got := session.TermsText(terms); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %t, want %q", text, got, ok, want)
		}
	}
}

// TestTermsAreMultiplied: a factor is of the limit before it, else of the one that is.
func TestTermsAreMultiplied(t *testing.T) {
	as := model.Target{Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 100, Window: time.Minute, Burst: 5}, Window: time.Minute,
		LimitKnown: true}
	for text, want := range map[string]int64{"x2": 200, "gcra 100/1m x2": 200, "gcra 10/1s x0.5": 5, "x2 x2": 400, "gcra 100/1mx2": 200,
		"gcra 100/1m x2 doubles": 200, "100/1mx2x2": 400} {
		if got, ok := session.ParseTerms(text, as); !ok || got.Limit.Count != want {
			t.Errorf("%q is %+v, %v; want %d", text, got.Limit, ok, want)
		}
	}
	if got, _ := session.ParseTerms("x2", as); got.Limit.Burst != 10 {
		t.Errorf("the burst is %d", got.Limit.Burst)
	}
	for _, text := range []string{"doubles", "x", "x0", "x-1", "x1e9", "xNaN", "100/1mx", "1x00/1m"} {
		if got, ok := session.ParseTerms(text, as); ok {
			t.Errorf("%q is %+v", text, got.Limit)
		}
	}
}
