package format_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
)

// TestReadMoment takes dates, times of day of the last 24 hours, and how long before or after.
func TestReadMoment(t *testing.T) {
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.Local)
	end := begin.Add(10 * time.Minute)
	for text, want := range map[string]time.Time{
		"09:05": begin.Add(5 * time.Minute), "09:05:01.5": begin.Add(5*time.Minute + 1500*time.Millisecond),
		"23:00": begin.Add(-10 * time.Hour), "2026-11-20 09:01": begin.Add(time.Minute), "2026-11-20T09:01:02": begin.Add(62 * time.Second),
		"2026-11-19 09:01:02.25": begin.Add(62*time.Second+250*time.Millisecond).AddDate(0, 0, -1),
		"2026-11-20T09:01:00Z":   time.Date(2026, 11, 20, 9, 1, 0, 0, time.UTC),
		" 30s ":                  end.Add(-30 * time.Second), "-30s": end.Add(-30 * time.Second), "1h ago": end.Add(-time.Hour), "+1m30s": begin.Add(90 * time.Second),
	} {
		if at, ok := format.ReadMoment(text, limiter.InstantOf(begin), limiter.InstantOf(end)); !ok || !at.Time().Equal(want) {
			t.Errorf("%q is %v %v, want %v", text, at.Time(), ok, want)
		}
	}
	for _, text := range []string{"", "noon", "25:00", "--5s", "+-5s", "5", "2026-13-01 09:00"} {
		if at, ok := format.ReadMoment(text, 0, limiter.InstantOf(end)); ok {
			t.Errorf("%q is %v", text, at.Time())
		}
	}
}
