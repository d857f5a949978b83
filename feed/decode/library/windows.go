package library

import (
	"regexp"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func kong(s *decode.Sample, c decode.Context) *decode.Match {
	base, period, ok := form.LastPart(s.Key, ':')
	base, stamp, more := form.LastPart(base, ':')
	ms, numeric := form.Count(stamp)
	length, known := kongPeriods[period]
	if !ok || !more || !numeric || !known || s.TTL <= 0 || s.TTL > 366*day || !c.Named && !kongName.MatchString(base) {
		return nil
	}
	x := aligned(limiter.FixedWindow, length, func(start limiter.Instant) string {
		return base + ":" + form.Decimal(start.Millis()) + ":" + period
	})
	x.Charged = true
	if length >= 30*day {
		x.Bounds = form.Calendar(length)
	}
	start := limiter.Instant(ms * 1000)
	if begin, _ := x.Bound(start); begin != start || start > c.Now.Add(clientAhead) {
		return nil
	}
	if _, ok := form.Count(s.Text); !ok {
		return nil
	}
	m := x.Match(base+":"+period, "ratelimit:", "named ratelimit:<route>:<service>:<id>:<start>:<period>",
		"the start is one of a "+period, "an integer that expires")
	m.Suffix = ":" + period // each has a limit of its own
	return m
}

// kongPeriods are the words for a period; months and years are those of the calendar.
var kongPeriods = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "month": 30 * day, "year": 365 * day,
}

const day = 24 * time.Hour

// kongName is the beginning of a name: the prefix and two UUIDs.
var kongName = regexp.MustCompile(`^ratelimit:(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:){2}`)

// aligned returns counters of windows of one length that are aligned to the epoch.
func aligned(a limiter.Algorithm, window time.Duration, key func(limiter.Instant) string) *form.Windowed {
	return &form.Windowed{Settings: decode.Settings{Algorithm: a, Window: window}, Key: key}
}

// untilNext recognizes a counter whose name ends in the number of its window and that expires a second after it: what stands
// before the number, from begins on, which begins the name or follows a colon, and the windows.
func untilNext(s *decode.Sample, c decode.Context, begins string) (base string, from int, x *form.Windowed) {
	from = strings.Index(s.Key, begins)
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if from < 0 || from > 0 && s.Key[from-1] != ':' || !ok || s.Type == "string" && !form.IsCounter(s) {
		return "", 0, nil
	}
	w, ok := form.WindowUntil(index, s, c.Now)
	if !ok || len(base) < from+len(begins) {
		return "", 0, nil
	}
	x = aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.How.Type = true, s.Type
	return base, from + len(begins), x
}

func gitlab(s *decode.Sample, c decode.Context) *decode.Match {
	base, from, x := untilNext(s, c, "application_rate_limiter:")
	if x == nil {
		return nil
	}
	x.Charged = true
	action, _, _ := strings.Cut(base[from:], ":")
	return x.Match(base, base[:from]+action+":", "named application_rate_limiter:<action>:<scope>:<index of a window>",
		"expires one second after that window")
}

func mastodon(s *decode.Sample, c decode.Context) *decode.Match {
	base, from, x := untilNext(s, c, "rate_limit:")
	if x == nil {
		return nil
	}
	account, family, _ := strings.Cut(base[from:], ":")
	if !form.IsNumber(account) || family == "" || strings.Contains(family, ":") {
		return nil
	}
	if f := mastodonFamilies[family]; f.Window == x.Settings.Window {
		x.Settings.Limit.Count, x.Settings.LimitFrom = f.Count, model.LimitOfName
	}
	m := x.Match(base, s.Key[:from], "named rate_limit:<account>:<family>:<index of a window>",
		"an integer that expires one second after that window")
	m.Suffix = ":" + family
	return m
}

var mastodonFamilies = map[string]limiter.Limit{
	"follows": {Count: 400, Window: day}, "statuses": {Count: 300, Window: 3 * time.Hour}, "reports": {Count: 400, Window: day},
}

func russellluo(s *decode.Sample, c decode.Context) *decode.Match {
	base, start, ok := form.StartSuffix(s, '@', c.Now)
	if !ok {
		return nil
	}
	w := form.WrittenWindow(start, s, c.Now)
	if w == 0 {
		return nil
	}
	x := aligned(limiter.SlidingWindow, w, func(start limiter.Instant) string { return base + "@" + form.Decimal(int64(start)*1000) })
	x.Origin, x.Lags = form.YearOne, true
	return x.Match(base, "", "named <key>@<start of a window in nanoseconds>", "an integer that expires two windows after it was written")
}
