package form

import (
	"testing"
	"time"

	"ratescope/limiter"
)

// TestWindowsOfASumAreOver: five counters of a minute each count for five minutes, and no counter of before is
// taken for one of five minutes, at whatever minute of the hour.
func TestWindowsOfASumAreOver(t *testing.T) {
	name, err := ParseTemplate("five:{who}:{window:%H%M}")
	if err != nil {
		t.Fatal(err)
	}
	l := Layout{Name: name, Read: Source{Kind: "value"}, Sum: 5, Limit: limiter.Limit{Count: 10, Window: 5 * time.Minute}, LimitKnown: true}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for minute := range 60 {
		now := time.Date(2026, 11, 24, 4, minute, 30, 0, time.UTC)
		for back := range 20 {
			key := "five:alice:" + now.Add(-time.Duration(back)*time.Minute).Format("1504")
			if m, ok := l.Match(key, "string", limiter.InstantOf(now)); !ok || m.Over != (back >= 5) {
				t.Errorf("at %s a counter of %d minutes ago, %s, is over: %v", now.Format("15:04"), back, key, m.Over)
			}
		}
	}
}
