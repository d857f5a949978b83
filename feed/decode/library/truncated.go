package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// russellluo is RussellLuo/slidingwindow with the datastore of its README, for the library leaves
// the store to the program: <key>@<start> a window, where start is in nanoseconds, aligned by
// time.Truncate, with an expiry of two windows that every write renews. Denied requests change
// nothing. A process sends what it has counted from time to time, 200 ms by default, so that Redis
// lags behind: what is used is a lower bound.
var russellluo = &decode.Library{
	Name: "russellluo-slidingwindow", Version: "2020-05-28", Types: []string{"string"},
	Exact:  []decode.Form{{Algorithm: limiter.SlidingWindow, Type: "string"}},
	Silent: []string{"the limit", "denied requests", "what the processes have not sent yet"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, start, ok := startSuffix(s, '@', c.Now)
		if !ok {
			return nil
		}
		w := writtenWindow(start, s, c.Now)
		if w == 0 {
			return nil
		}
		x := &windowed{origin: yearOne, lags: true, key: func(start limiter.Instant) string {
			return base + "@" + decimal(int64(start)*1000)
		}}
		x.settings.Algorithm, x.settings.Window = limiter.SlidingWindow, w
		return matchWindowed(x, base, "", "named <key>@<start of a window in nanoseconds>", "an integer that expires two windows after it was written")
	},
}

// startSuffix splits a key at the start of a window in nanoseconds, whole microseconds and not
// ahead of now; ok is false where s is no counter with such a name.
func startSuffix(s *decode.Sample, sep byte, now limiter.Instant) (base string, start limiter.Instant, ok bool) {
	if len(s.Key) <= 19 || s.TTL <= 0 {
		return "", 0, false
	}
	base, digits := s.Key[:len(s.Key)-19], s.Key[len(s.Key)-19:]
	start, ok = nanoseconds(digits, now)
	if _, counts := count(s.Text); !ok || !counts || !strings.HasSuffix(digits, "000000") || start > now.Add(wholeSecond) {
		return "", 0, false
	}
	if sep == 0 {
		last := base[len(base)-1]
		return base, start, last < '0' || last > '9'
	}
	return strings.TrimSuffix(base, string(sep)), start, base[len(base)-1] == sep && len(base) > 1
}

// writtenWindow returns the one length of a window that begins at start whose counter, written
// within it, expires two windows later; 0 where none or several do. What was just written tells
// it by the expiry alone, else it is taken to be one that people choose.
func writtenWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant) (w time.Duration) {
	fits := func(w time.Duration) bool {
		lives := s.Expiry(now).Sub(start)
		return w >= limiter.MinWindow && startOf(start, yearOne, w) == start && lives >= 2*w-latency && lives <= 3*w+latency
	}
	half := time.Duration(math.Ceil((s.TTL - latency).Seconds())) * time.Second / 2
	if 2*half-s.TTL < latency && half >= wholeSecond && fits(half) {
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

// truncatedWindow returns the window of which a counter of a fixed start expires after so many
// windows from it, to the millisecond; 0 where it is none that is aligned to its length.
func truncatedWindow(start limiter.Instant, s *decode.Sample, now limiter.Instant, windows int64) time.Duration {
	w := (s.Expiry(now).Sub(start) / time.Duration(windows))
	for _, step := range [...]time.Duration{wholeSecond, 100 * time.Millisecond} {
		near := w.Round(step)
		if (w-near).Abs() <= latency/2 && near >= step && near <= limiter.MaxWindow && startOf(start, yearOne, near) == start {
			return near
		}
	}
	return 0
}
