package form

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// StartSuffix splits a key at the start of a window in nanoseconds, whole microseconds and not
// ahead of now; ok is false where s is no counter with such a name.
func StartSuffix(s *decode.Sample, sep byte, now limiter.Instant) (base string, start limiter.Instant, ok bool) {
	if len(s.Key) <= 19 || s.TTL <= 0 {
		return "", 0, false
	}
	base, digits := s.Key[:len(s.Key)-19], s.Key[len(s.Key)-19:]
	start, ok = Nanoseconds(digits, now)
	if _, counts := Count(s.Text); !ok || !counts || !strings.HasSuffix(digits, "000000") || start > now.Add(WholeSecond) {
		return "", 0, false
	}
	if sep == 0 {
		last := base[len(base)-1]
		return base, start, last < '0' || last > '9'
	}
	return strings.TrimSuffix(base, string(sep)), start, base[len(base)-1] == sep && len(base) > 1
}

// WrittenWindow returns the one length of a window that begins at start whose counter, written
// within it, expires two windows later; 0 where none or several do. What was just written tells
// it by the expiry alone, else it is taken to be one that people choose.
func WrittenWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant) (w time.Duration) {
	fits := func(w time.Duration) bool {
		lives := s.Expiry(now).Sub(start)
		return w >= limiter.MinWindow && startOf(start, YearOne, w) == start && lives >= 2*w-Latency && lives <= 3*w+Latency
	}
	half := time.Duration(math.Ceil((s.TTL - Latency).Seconds())) * time.Second / 2
	if 2*half-s.TTL < Latency && half >= WholeSecond && fits(half) {
		return half
	}
	for _, u := range decode.Periods {
		if fits(u) {
			if w != 0 {
				return 0
			}
			w = u
		}
	}
	return w
}

// TruncatedWindow returns the window of which a counter of a fixed start expires after so many
// windows from it, to the millisecond; 0 where it is none that is aligned to its length.
func TruncatedWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant, windows int64) time.Duration {
	w := (s.Expiry(now).Sub(start) / time.Duration(windows))
	for _, step := range [...]time.Duration{WholeSecond, 100 * time.Millisecond} {
		near := w.Round(step)
		if (w-near).Abs() <= Latency/2 && near >= step && near <= limiter.MaxWindow && startOf(start, YearOne, near) == start {
			return near
		}
	}
	return 0
}
