package cmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
)

// at is 15 s into a minute, in the middle of a millisecond.
const at = limiter.Instant(1_800_000_015_000_250)

// firedOfEachKind are answers of each kind.
func firedOfEachKind() []model.Fired {
	limit := limiter.Limit{Count: 2, Window: time.Second}
	return []model.Fired{
		{Key: "k", Cost: 1, At: at, Outcome: model.Admitted, Latency: 210 * time.Microsecond,
			Decision: limiter.Decision{Allowed: true, Limit: limit, Remaining: 1}},
		{Key: "k", Cost: 2, At: at.Add(time.Millisecond), Outcome: model.Denied, Latency: 1500 * time.Microsecond,
			Decision: limiter.Decision{Limit: limit, Remaining: 1, RetryAfter: 998*time.Millisecond + time.Microsecond}},
		{Key: "k", Cost: 3, At: at.Add(2 * time.Millisecond), Outcome: model.Denied, Latency: time.Millisecond,
			Decision: limiter.Decision{Limit: limit, Remaining: 1, RetryAfter: limiter.Never}},
		{Key: "k", Cost: 1, At: at.Add(3 * time.Millisecond), Outcome: model.Failed, Err: "OOM \x1b[31mcommand not allowed"},
		{Key: "k", Cost: 1, At: at.Add(4 * time.Millisecond), Outcome: model.Unanswered, Latency: 2 * time.Second, Err: "no answer in 2 s"},
		{Key: "k", Cost: 1, At: at.Add(5 * time.Millisecond), Outcome: model.Admitted,
			Decision: limiter.Decision{Allowed: true}},
	}
}

func TestFire(t *testing.T) {
	f := newFireAccount("k", report.Options{})
	var text bytes.Buffer
	for _, s := range firedOfEachKind() {
		text.WriteString(f.Add(s) + "\n")
	}
	text.WriteString(f.Total() + "\n" + f.Trouble() + "\n")
	t.Run("text", func(t *testing.T) { golden.RequireEqual(t, text.Bytes()) })
	t.Run("json", func(t *testing.T) {
		var b bytes.Buffer
		if err := f.JSON(&b); err != nil {
			t.Fatal(err)
		}
		golden.RequireEqual(t, b.Bytes())
	})
	t.Run("no trouble", func(t *testing.T) {
		f := newFireAccount("k", report.Options{})
		for _, s := range firedOfEachKind()[:3] {
			f.Add(s)
		}
		if got := f.Trouble(); got != "" {
			t.Errorf("decided requests are no trouble, but it says %q", got)
		}
	})
}
