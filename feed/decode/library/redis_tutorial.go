package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// redisTutorial is the limiters of Redis's own pages. Those whose form is unmistakable are known:
// a counter <address>:<Unix second> with an expiry of 10 s, which admits one request more than its
// limit; a counter rate.limit:<address>; a sorted set of whole seconds whose members are the second
// and the microseconds written together. A counter of the minute of the hour, <user>:<minute>, and
// a sorted set of <ms>-<random> are those of many programs, so that a rule has to name them.
var redisTutorial = &decode.Library{
	Name: "redis-tutorial", Version: "redis.io", Published: true, Types: []string{"string", "zset"},
	Silent: []string{"the limit", "denied requests, except where they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.TTL <= 0 {
			return nil
		}
		if s.Type == "zset" {
			return matchTutorialLog(s, c)
		}
		base, last, ok := form.LastPart(s.Key, ':')
		n, numeric := form.Count(last)
		switch {
		case !form.IsCounter(s):
			return nil
		case ok && numeric && n > 1e9 && n < 1e11 && s.TTL <= 10*time.Second && (c.Named || form.IsAddress(base)):
			return matchSecond(s, c, base, limiter.Instant(n*1e6))
		case c.Named && ok && numeric && n < 60 && s.TTL <= time.Minute:
			x := &form.Windowed{Key: func(start limiter.Instant) string { return base + ":" + form.Decimal(int64(start)/60e6%60) }}
			x.Settings.Algorithm, x.Settings.Window = limiter.FixedWindow, time.Minute
			return form.MatchWindowed(x, base, "", "named <user>:<minute>", "an integer that expires within a minute")
		}
		return matchCounter(s, c, "rate.limit:", "named rate.limit:<address of a client>")
	},
}

// matchSecond returns the match of a counter of one second.
func matchSecond(s *decode.Sample, c decode.Context, base string, start limiter.Instant) *decode.Match {
	if age := c.Now.Sub(start); age < -form.WholeSecond || age > 11*time.Second || s.TTL < 10*time.Second-age-form.Latency {
		return nil
	}
	x := &form.Windowed{More: 1, Key: func(start limiter.Instant) string { return base + ":" + form.Decimal(int64(start)/1e6) }}
	x.Settings.Algorithm, x.Settings.Window = limiter.FixedWindow, time.Second
	return form.MatchWindowed(x, base, "", "named <address of a client>:<Unix second>", "an integer that expires ten seconds later")
}

// matchTutorialLog returns the match of a sorted set of requests.
func matchTutorialLog(s *decode.Sample, c decode.Context) *decode.Match {
	if len(s.First) == 0 || len(s.Last) == 0 {
		return nil
	}
	joined := form.BothEnds(s, func(e decode.Element) bool {
		micros, ok := strings.CutPrefix(e.Member, decode.Score(e.Score))
		_, numeric := form.Count(micros)
		return ok && numeric && len(micros) <= 6 && form.IsSecond(e.Score, c.Now) && len(e.Member) > 10
	})
	if joined {
		lives, _ := form.Newest(s, c.Now, time.Second) // a second's score is rounded down, and so is what is more
		return form.LoggedSeconds((lives + form.Latency).Truncate(time.Second), limiter.DeniedFree, "", "a sorted set of whole seconds",
			"members that are a second and its microseconds written together")
	}
	if unit := decode.UnitOf(s.First[0].Score, c.Now); c.Named && unit != 0 &&
		form.BothEnds(s, func(e decode.Element) bool { return decode.UnitOf(e.Score, c.Now) == unit }) {
		lives, _ := form.Newest(s, c.Now, unit)
		return form.LoggedSeconds(lives, limiter.DeniedCharged, "", "a sorted set of times that expires")
	}
	return nil
}
