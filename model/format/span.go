// Package format writes counts and durations for people: one rounding for every screen, command and
// file, so that a wait reads the same wherever it is shown.
package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ratescope/limiter"
)

// Unknown is how a value that is not known is written. It is never 0.
const Unknown = "–"

// Span writes a duration in at most six columns: 740ms, 7.4s, 41s, 1m44s, 2h05m, 12d.
// It rounds up, so that waiting that long is enough.
func Span(d time.Duration) string {
	switch {
	case d == limiter.Never:
		return "never"
	case d <= 0:
		return "0s"
	case d <= 999*time.Millisecond:
		return strconv.FormatInt(int64(ceil(d, time.Millisecond)/time.Millisecond), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(ceil(d, 100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	case d <= 59*time.Second:
		return strconv.FormatInt(int64(ceil(d, time.Second)/time.Second), 10) + "s"
	case d < time.Hour:
		d = ceil(d, time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = ceil(d, time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return strconv.FormatInt(int64(ceil(d, 24*time.Hour)/(24*time.Hour)), 10) + "d"
}

// Wait writes how long is left as Span does, and "<1s" below a second: thousandths that count down are not read.
func Wait(d time.Duration) string {
	if d > 0 && d < time.Second {
		return "<1s"
	}
	return Span(d)
}

func ceil(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// Spaced writes what Span does with blanks between numbers and units, as tables of the command
// line have it: 740 ms, 7.4 s, 41 s, 1 m 44 s, 2 h 05 m, 12 d.
func Spaced(d time.Duration) string {
	var b strings.Builder
	before := ' '
	for _, r := range Span(d) {
		if b.Len() > 0 && unicode.IsLetter(before) != unicode.IsLetter(r) && d != limiter.Never {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return strings.ReplaceAll(b.String(), " . ", ".")
}

// units are those that are written with one number, the largest first.
var units = [...]struct {
	unit time.Duration
	name string
}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}

// SpanIn writes a duration as Span does, and where that takes more than so many columns in
// its first unit alone: 59m59s as 60m. It rounds up.
func SpanIn(d time.Duration, columns int) string {
	text := Span(d)
	if len(text) <= columns {
		return text
	}
	for _, u := range units {
		if one := strconv.FormatInt(int64((d-1)/u.unit)+1, 10) + u.name; d >= u.unit && len(one) <= columns {
			return one
		}
	}
	return text
}

// Length writes a configured duration as people say it: 10s, 1m, 1h30m, 250ms.
func Length(d time.Duration) string {
	if d <= 0 {
		return Unknown
	}
	s := d.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if n := len(s) - len(zero) + 1; n > 0 && s[n-1:] == zero {
			s = s[:n]
		}
	}
	return s
}

// Each writes the length of a window with a blank before its unit, the largest that it is a whole
// number of: 1 m, 90 s, 250 ms.
func Each(d time.Duration) string {
	for _, u := range units[1:] { // no window is said in years
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprintf("%d %s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// Elapsed writes how long something took, to the second, as Length does: 10s, 1m30s; "0s" below
// half a second.
func Elapsed(d time.Duration) string {
	if d = d.Round(time.Second); d > 0 {
		return Length(d)
	}
	return "0s"
}

// Latency writes a short duration with three digits: 180µs, 1.24ms, 340ms, 1.2s.
func Latency(d time.Duration) string {
	switch {
	case d <= 0:
		return Unknown
	case d < time.Millisecond:
		return strconv.FormatInt(int64(d/time.Microsecond), 10) + "µs"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 2, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
	case d < 999*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	return Span(d)
}

// Signed writes a short duration with its sign.
func Signed(d time.Duration) string {
	if d < 0 {
		return "-" + Latency(-d)
	}
	return "+" + Latency(d)
}
