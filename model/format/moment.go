package format

import (
	"strings"
	"time"

	"ratescope/limiter"
)

// Moments says which texts ReadMoment takes, for a message.
const Moments = "14:02:11, 2026-11-20 14:02:11, 30s for as long before, or +30s for after"

// ReadMoment reads a moment as a person types it: a date and a time of day, by this machine's
// time zone where the text has none; a time of day, of the last 24 hours before end; a duration
// before end, as in 30s, -30s or "30s ago"; or one after begin, as in +30s.
func ReadMoment(text string, begin, end limiter.Instant) (limiter.Instant, bool) {
	text = strings.TrimSuffix(strings.TrimSpace(text), " ago")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return limiter.InstantOf(at), true
	}
	// Fractions of a second are read with any layout.
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return limiter.InstantOf(at), true
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		local := end.Time().In(time.Local)
		at := time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		if at.After(local) {
			at = at.AddDate(0, 0, -1)
		}
		return limiter.InstantOf(at), true
	}
	number, after := strings.CutPrefix(text, "+")
	if !after {
		number = strings.TrimPrefix(text, "-")
	}
	d, err := time.ParseDuration(number)
	switch {
	case err != nil || d < 0:
		return 0, false
	case after:
		return begin.Add(d), true
	}
	return end.Add(-d), true
}
