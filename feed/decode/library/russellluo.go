package library

import (
	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// russellluo is RussellLuo/slidingwindow with the datastore of its README, for the library leaves
// the store to the program: <key>@<start> a window, where start is in nanoseconds, aligned by
// time.Truncate, with an expiry of two windows that every write renews. Denied requests change
// nothing. A process sends what it has counted from time to time, 200 ms by default, so that Redis
// lags behind: what is used is a lower bound.
var russellluo = &decode.Library{
	Name: "russellluo-slidingwindow", Version: "2020-05-28", Types: []string{"string"},
	Silent: []string{"the limit", "denied requests", "what the processes have not sent yet"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, start, ok := form.StartSuffix(s, '@', c.Now)
		if !ok {
			return nil
		}
		w := form.WrittenWindow(start, s, c.Now)
		if w == 0 {
			return nil
		}
		x := &form.Windowed{Origin: form.YearOne, Lags: true, Key: func(start limiter.Instant) string {
			return base + "@" + form.Decimal(int64(start)*1000)
		}}
		x.Settings.Algorithm, x.Settings.Window = limiter.SlidingWindow, w
		return form.MatchWindowed(x, base, "", "named <key>@<start of a window in nanoseconds>",
			"an integer that expires two windows after it was written")
	},
}
