package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
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
		base, period, ok := form.LastPart(s.Key, ':')
		base, stamp, more := form.LastPart(base, ':')
		ms, numeric := form.Count(stamp)
		if !ok || !more || !numeric || s.TTL <= 0 || !c.Named && !isKongName(base) {
			return nil
		}
		x, known := kongPeriod(period)
		if !known {
			return nil
		}
		start := limiter.Instant(ms * 1000)
		if begin, _ := x.Window(start); begin != start || start > c.Now.Add(5*time.Second) {
			return nil
		}
		if _, ok := form.Count(s.Text); !ok || s.TTL > 366*24*time.Hour {
			return nil
		}
		x.Key = func(start limiter.Instant) string {
			return base + ":" + form.Decimal(start.Millis()) + ":" + period
		}
		return form.MatchWindowed(x, base+":"+period, "ratelimit:",
			"named ratelimit:<route>:<service>:<id>:<start>:<period>", "the start is one of a "+period, "an integer that expires")
	},
}

// isKongName says whether a name begins with the prefix and two UUIDs.
func isKongName(base string) bool {
	rest, ok := strings.CutPrefix(base, "ratelimit:")
	if !ok || len(rest) < 2*37 {
		return false
	}
	return form.UuidForm(rest[:36]) && rest[36] == ':' && form.UuidForm(rest[37:73]) && rest[73] == ':'
}

// kongPeriod returns the windows that a period means.
func kongPeriod(period string) (*form.Windowed, bool) {
	x := &form.Windowed{Charged: true}
	x.Settings.Algorithm = limiter.FixedWindow
	switch period {
	case "second":
		x.Settings.Window = time.Second
	case "minute":
		x.Settings.Window = time.Minute
	case "hour":
		x.Settings.Window = time.Hour
	case "day":
		x.Settings.Window = 24 * time.Hour
	case "month":
		x.Bounds = func(at limiter.Instant) (start, end limiter.Instant) { return calendar(at, 1) }
	case "year":
		x.Bounds = func(at limiter.Instant) (start, end limiter.Instant) { return calendar(at, 12) }
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
