package naming

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// dates are calendars in names, whose groups together are a date as Go writes it, and how long ago or ahead that is at most in
// the name of a window of these hours, or of a month.
var dates = [...]struct {
	shape  *regexp.Regexp
	layout string
	within time.Duration
}{
	{regexp.MustCompile(`(?:^|\D)(20\d\d)\D?(0[1-9]|1[0-2])\D?([0-2]\d|3[01])`), "20060102", 32 * day},
	{regexp.MustCompile(`(?:^|\D)(20\d\d)\D?(0[1-9]|1[0-2])(?:$|\D)`), "200601", 63 * day},
	{regexp.MustCompile(`(?:^|\D)(0[1-9]|1[0-2])[-/._]?(20\d\d)(?:$|\D)`), "012006", 63 * day},
	{regexp.MustCompile(`(?:^|\D)(20\d\d)[-/._]?([0-3]\d\d)(?:$|\D)`), "2006002", 32 * day},
	{regexp.MustCompile(`(?:^|\D)([0-2]\d|3[01])[-/._]?(0[1-9]|1[0-2])[-/._]?(20\d\d)(?:$|\D)`), "02012006", 32 * day},
	{regexp.MustCompile(`(?:^|\D)(0[1-9]|1[0-2])[-/._]?([0-2]\d|3[01])[-/._]?(20\d\d)(?:$|\D)`), "01022006", 32 * day},
	{regexp.MustCompile(`(?:^|\D)(\d{6})(?:\d\d){1,3}(?:$|\D)`), "060102", 32 * day}, // a year of two digits, with its hour
	{regexp.MustCompile(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "060102", 2 * day},
	{regexp.MustCompile(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "020106", 2 * day},
	{regexp.MustCompile(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "010206", 2 * day},
}

const day = 24 * time.Hour

var (
	numbers  = regexp.MustCompile(`\d{4,14}`)
	numerals = regexp.MustCompile(`[0-9a-z]{5,8}`) // a number to a base above ten
	weeks    = regexp.MustCompile(`(?:^|\D)20\d\d[-_.]?(?:[Ww][0-5]\d|[Qq][1-4])(?:$|\D)`)
	weekly   = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(?:20\d\d[-_.:/]?|w(?:k|eek)?[-_.:]?)([0-5]\d)(?:$|\D)`)
	months   = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-_./]?20\d\d(?:$|\D)`)
	minutes  = regexp.MustCompile(`(?:^|[:_./|-])(?:[0-3]\d)?([0-2]\d)[-:._]?([0-5]\d)(?:$|[:_./|-])`) // also behind a day
)

// recentMinutes is how old the minute of a day may be that is taken for a window: longer ago it is likelier another number.
const recentMinutes = 10

// Dated reports whether a part of a name reads as a window of these hours: a calendar's, the number of a usual window, the second
// or millisecond at which one starts or ends, or the minute of a day. A program that reads the key as a counter until its expiry
// would be wrong. Where length, that of its windows, is not 0 the words for days and months, the weeks of a year and numbers to a
// base above ten are read as well.
func Dated(name string, length time.Duration, now limiter.Instant) bool {
	t := now.Time().UTC()
	for _, at := range numbers.FindAllString(name, -1) {
		if n, err := strconv.ParseInt(at, 10, 64); err == nil && instantNear(n, now) || Recent(n, now) || numberOf(n, length, now, 12) ||
			at == t.Format("00215") || at == t.Add(-time.Hour).Format("00215") {
			return true
		}
	}
	for _, c := range dates {
		for _, found := range c.shape.FindAllStringSubmatch(name, -1) {
			if date, err := time.Parse(c.layout, strings.Join(found[1:], "")); err == nil && t.Sub(date).Abs() < c.within {
				return true
			}
		}
	}
	for _, found := range minutes.FindAllStringSubmatch(name, -1) {
		hour, _ := strconv.Atoi(found[1])
		minute, _ := strconv.Atoi(found[2])
		since := (t.Hour()*60 + t.Minute() - hour*60 - minute + 24*60) % (24 * 60)
		if hour < 24 && minute < 60 && since <= recentMinutes {
			return true
		}
	}
	return weeks.MatchString(name) || months.MatchString(name) || length > 0 && named(name, length, now)
}

// instantNear says whether a number is the time, in seconds or milliseconds, of a window of these two days.
func instantNear(n int64, now limiter.Instant) bool {
	return slices.ContainsFunc([]int64{1_000_000, 1_000}, func(unit int64) bool {
		return n < 1<<62/unit && limiter.Instant(n*unit).Sub(now).Abs() < 2*day
	})
}

// numberOf says whether n is the number, since 1970, of one of the last windows of a length, or of the next one.
func numberOf(n int64, length time.Duration, now limiter.Instant, last int64) bool {
	if length <= 0 {
		return false
	}
	age := int64(now)/length.Microseconds() - n
	return age >= -1 && age < last
}

// named says whether a part of a name is a word for the window of that length that holds now or the one before, the number of its
// week, or the number of one of the last windows, or a time of now, to the base 16 or 36.
func named(name string, length time.Duration, now limiter.Instant) bool {
	t, before := now.Time().UTC(), now.Add(-length).Time().UTC()
	layout := map[bool]string{length == day: "Monday", length >= 28*day: "January"}[true]
	for _, at := range []time.Time{t, before} {
		if slices.ContainsFunc(halves[:], func(half [2]string) bool { return strings.Contains(name, at.Format(half[0])) }) {
			return true
		}
	}
	for w := range Words(name) {
		for _, at := range []time.Time{t, before} {
			if full := strings.ToLower(at.Format(layout)); layout != "" && (w == full || w == full[:3]) {
				return true
			}
		}
	}
	for _, found := range weekly.FindAllStringSubmatch(name, -1) {
		n, _ := strconv.Atoi(found[1])
		_, week := t.ISOWeek()
		if since := (week - n + 53) % 53; length == 7*day && since <= 2 {
			return true
		}
	}
	for _, at := range numerals.FindAllString(strings.ToLower(name), -1) {
		for _, base := range [...]int{16, 36} {
			n, err := strconv.ParseInt(at, base, 64)
			if err == nil && (numberOf(n, length, now, 120) || len(at) > 6 && instantNear(n, now)) {
				return true
			}
		}
	}
	return false
}

// Over returns the part of a name that reads as a window which ended at most three of its lengths ago.
func Over(name string, now limiter.Instant) (Window, bool) {
	const ago, least = 3, 5 // shorter numbers come round
	lengths := Lengths[:]
	if !counted(name, now) {
		lengths = []time.Duration{time.Second, time.Minute, time.Hour, day} // those of calendars
	}
	for _, length := range lengths {
		for n := range ago {
			if w, ok := WindowOf(name, now.Add(-time.Duration(n+1)*length)); ok && w.Length == length && w.To-w.From >= least {
				return w, true
			}
		}
	}
	return Window{}, false
}

// counted says whether a number in a name, to whatever base, may be that of one of the last windows of a usual length.
func counted(name string, now limiter.Instant) bool {
	recent := func(at string, base int) bool {
		n, err := strconv.ParseInt(at, base, 64)
		return err == nil && Recent(n, now)
	}
	return slices.ContainsFunc(numbers.FindAllString(name, -1), func(at string) bool { return recent(at, 10) }) ||
		slices.ContainsFunc(numerals.FindAllString(name, -1), func(at string) bool { return recent(at, 16) || recent(at, 36) })
}

// Shows says how much a name tells of the form of its windows: the more the better. The end of one lies ahead until it is over, when
// it reads as a beginning, and the name of any that is over tells no form.
func Shows(name string, now limiter.Instant) int {
	switch w, ok := WindowOf(name, now); {
	case !ok:
		return 0
	case w.Start == 0 && w.End > 0:
		return 2
	}
	return 1
}
