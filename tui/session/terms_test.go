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
