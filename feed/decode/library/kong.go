package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// kong is the plugin rate-limiting of Kong: ratelimit:<route>:<service>:<id>:<start>:<period>,
// where route and service are UUIDs, all zeros where there is none, start is in milliseconds and
// period is a word. A request is counted in all periods of a subject before it is judged, also
// one that is denied. Each period is a limiter. Months and years are those of the calendar, in
// UTC. The expiry is set once, so that a key outlives its period. Where the plugin syncs at a
// rate of its own, Redis lags behind what the nodes have counted.
var kong = &decode.Library{
	Name: "kong", Version: "3.x", Published: true, Types: []string{"string"},
	Silent: []string{"the limits", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, period, ok := lastPart(s.Key, ':')
		base, stamp, more := lastPart(base, ':')
		ms, numeric := count(stamp)
		if !ok || !more || !numeric || s.TTL <= 0 || !c.Named && !isKongName(base) {
			return nil
		}
		x, known := kongPeriod(period)
		if !known {
			return nil
		}
		start := limiter.Instant(ms * 1000)
		if begin, _ := x.window(start); begin != start || start > c.Now.Add(5*time.Second) {
			return nil
		}
		if _, ok := count(s.Text); !ok || s.TTL > 366*24*time.Hour {
			return nil
		}
		x.key = func(start limiter.Instant) string {
			return base + ":" + decimal(start.Millis()) + ":" + period
		}
		return matchWindowed(x, base+":"+period, "ratelimit:",
			"named ratelimit:<route>:<service>:<id>:<start>:<period>", "the start is one of a "+period, "an integer that expires")
	},
}

// isKongName says whether a name begins with the prefix and two UUIDs.
func isKongName(base string) bool {
	rest, ok := strings.CutPrefix(base, "ratelimit:")
	if !ok || len(rest) < 2*37 {
		return false
	}
	return uuidForm(rest[:36]) && rest[36] == ':' && uuidForm(rest[37:73]) && rest[73] == ':'
}

// kongPeriod returns the windows that a period means.
func kongPeriod(period string) (*windowed, bool) {
	x := &windowed{charged: true}
	x.settings.Algorithm = limiter.FixedWindow
	switch period {
	case "second":
		x.settings.Window = time.Second
	case "minute":
		x.settings.Window = time.Minute
	case "hour":
		x.settings.Window = time.Hour
	case "day":
		x.settings.Window = 24 * time.Hour
	case "month":
		x.bounds = func(at limiter.Instant) (start, end limiter.Instant) { return calendar(at, 1) }
	case "year":
		x.bounds = func(at limiter.Instant) (start, end limiter.Instant) { return calendar(at, 12) }
	default:
		return nil, false
	}
	return x, true
}

// calendar returns the month, or the year of twelve, of an instant in UTC.
func calendar(at limiter.Instant, months int) (start, end limiter.Instant) {
	t := at.Time().UTC()
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	if months == 12 {
		first = time.Date(t.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return limiter.Instant(first.UnixMicro()), limiter.Instant(first.AddDate(0, months, 0).UnixMicro())
}
