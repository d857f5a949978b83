package form

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// Dated reports whether a part of a name reads as a window of these hours: a calendar's, the number of a
// usual window, the second or millisecond at which one starts or ends, or the minute of a day. A program that reads
// the key as a counter until its expiry would be wrong.
func Dated(name string, now limiter.Instant) bool {
	for _, at := range numbers.FindAllString(name, -1) {
		if n, err := strconv.ParseInt(at, 10, 64); err == nil && numbered(n, now) {
			return true
		}
	}
	t := now.Time().UTC()
	for _, found := range dates.FindAllStringSubmatch(name, -1) {
		date, err := time.Parse("20060102", found[1]+found[2]+cmp.Or(found[3], "15"))
		if err == nil && t.Sub(date).Abs() < 32*day {
			return true
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
	return false
}

// recentMinutes is how old the minute of a day may be that is taken for a window: longer ago it is likelier
// another number.
const recentMinutes = 10

var (
	numbers = regexp.MustCompile(`\d{4,14}`)
	dates   = regexp.MustCompile(`(?:^|\D)(20\d\d)[-/._]?(0[1-9]|1[0-2])(?:[-/._]?([0-2]\d|3[01]))?`)
	minutes = regexp.MustCompile(`(?:^|[:_./|-])([0-2]\d)[-:._]?([0-5]\d)(?:$|[:_./|-])`)
)

// numbered reports whether a number is the time, in seconds or milliseconds, of a window of these two days,
// or the number of one of the last windows of a usual length.
func numbered(n int64, now limiter.Instant) bool {
	for _, unit := range [...]int64{1_000_000, 1_000} {
		if at := limiter.Instant(n); n < 1<<62/unit && (at*limiter.Instant(unit)).Sub(now).Abs() < 2*day {
			return true
		}
	}
	return naming.Recent(n, now)
}
