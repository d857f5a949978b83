package library

import (
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// rollingRateLimiter is rolling-rate-limiter: <namespace><id>, a sorted set of random UUIDs whose
// scores are microseconds. Every call adds one, also a denied one, removes what is a window old, and
// sets the expiry to the window rounded up to whole seconds. The least time between two requests
// that it can demand is nowhere in Redis.
var rollingRateLimiter = &decode.Library{
	Name: "rolling-rate-limiter", Version: "0.4.2", Types: []string{"zset"},
	Silent: []string{"the limit", "the window's fraction of a second", "the least time between two requests",
		"which requests were denied: they are recorded as the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		lives, ok := form.Newest(s, c.Now, time.Microsecond)
		if !ok || !form.BothEnds(s, func(e decode.Element) bool { return form.IsUUID(e.Member) && !form.HasFraction(e) }) {
			return nil
		}
		window := lives.Truncate(time.Second)
		if window == 0 || lives-window > 100*time.Millisecond && !c.Named || !form.Spans(s, time.Microsecond, window) {
			return nil
		}
		return form.Logged(window, limiter.DeniedCharged, form.PrefixOf(s.Key), "a sorted set of random UUIDs whose scores are microseconds",
			"it expires a whole number of seconds after its newest score")
	},
}

// slidingWindowRateLimiter is sliding-window-rate-limiter: the id alone, a sorted set of the server's
// microseconds whose members are their scores. The expiry takes the window's milliseconds for
// seconds, so that the key lives a thousand windows. A denied call adds nothing.
//
// A log of this module whose window is a thousand times as long holds the same, so that only a rule
// can say which of the two a key is.
var slidingWindowRateLimiter = &decode.Library{
	Name: "sliding-window-rate-limiter", Version: "6.0.1", Types: []string{"zset"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		window, whole, ok := thousandth(s, c.Now)
		if !ok || !whole || !c.Named {
			return nil
		}
		return form.Logged(window, limiter.DeniedFree, form.PrefixOf(s.Key), "a sorted set whose members are their scores, in microseconds",
			"it lives a thousand windows")
	},
}

// thousandth returns the thousandth part of how long a log of microseconds lives, and whether it
// lives whole seconds; ok is false where s is none, or its members do not lie that close together.
func thousandth(s *decode.Sample, now limiter.Instant) (window time.Duration, whole, ok bool) {
	lives, ok := form.Newest(s, now, time.Microsecond)
	if !ok || !form.BothEnds(s, form.IsScore) {
		return 0, false, false
	}
	seconds := lives.Round(time.Second)
	window = seconds / 1000
	return window, (lives - seconds).Abs() <= form.ClockSlack, form.Spans(s, time.Microsecond, window)
}

// isThousandfold reports whether a log may be one that lives a thousand usual windows: its expiry
// is no usual window itself. The clock that the sample is compared with may lag behind the server.
func isThousandfold(s *decode.Sample, now limiter.Instant) bool {
	window, _, ok := thousandth(s, now)
	return ok && slices.Contains(decode.Periods[:], window) && !slices.Contains(decode.Periods[:], 1000*window)
}
