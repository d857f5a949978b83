package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// PerSecond writes a rate in at most seven columns: 0/s, 0.3/s, 12.4/s, 840/s, 12.1k/s.
func PerSecond(v float64) string {
	switch {
	case v >= math.MaxInt64: // what a hostile store makes of it
		return Short(math.MaxInt64) + "/s"
	case v == 0:
		return "0/s"
	case v < 0.05:
		return "<0.1/s"
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + "/s"
	}
	return Short(int64(v+0.5)) + "/s"
}

// Short writes a count in at most five columns: 9999, 12.1k, 840k, 3.2M.
func Short(n int64) string {
	if n < 0 {
		return "-" + Short(-n)
	}
	return scaled(n, 5)
}

// Brief writes a count in at most four columns: 9999, 12k, 840k, 3.2M.
func Brief(n int64) string { return scaled(n, 4) }

// scaled writes a count below 10,000 as it is, and others in thousands, millions and so on, with a
// decimal where that takes no more than so many columns.
func scaled(n int64, columns int) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	v := float64(n)
	for _, unit := range "kMGTPE" {
		if v /= 1000; v >= 999.5 {
			continue
		}
		if text := strconv.FormatFloat(v, 'f', 1, 64) + string(unit); len(text) <= columns {
			return text
		}
		return strconv.FormatFloat(v, 'f', 0, 64) + string(unit)
	}
	return Unknown // no int64 is that large
}

// First returns the first of the texts that fits into so many columns, "" if none does.
func First(columns int, texts ...string) string {
	for _, t := range texts {
		if safetext.Width(t) <= columns {
			return t
		}
	}
	return ""
}

// Clock writes an instant as the time of day on the server's clock.
func Clock(t limiter.Instant) string { return t.Time().In(time.Local).Format("15:04:05") }

// ClockMillis is clock with milliseconds.
func ClockMillis(t limiter.Instant) string { return t.Time().In(time.Local).Format("15:04:05.000") }

// Date writes an instant with its day on the server's clock, for what may be of another day.
func Date(t limiter.Instant) string { return t.Time().In(time.Local).Format("2006-01-02 15:04:05") }

// Wrap breaks clean text at spaces into lines of at most w cells; a longer word is cut.
func Wrap(text string, w int) []string {
	lines := WrapBy(text, w, safetext.Width)
	for i := range lines {
		lines[i] = safetext.Shorten(lines[i], w, safetext.Ellipsis)
	}
	return lines
}

// WrapTo breaks clean text as Wrap does into so many lines at most; where more is left, the last one ends in an ellipsis.
func WrapTo(text string, w, most int) []string {
	lines := Wrap(text, w)
	if most = max(most, 0); len(lines) > most {
		if most > 0 {
			lines[most-1] = safetext.Clip(lines[most-1]+" "+lines[most], w, safetext.Ellipsis)
		}
		lines = lines[:most]
	}
	return lines
}

// WrapBy breaks text at spaces into lines that measure w at most; a longer word has a line of its
// own.
func WrapBy(text string, w int, measure func(string) int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case measure(line+" "+word) <= w:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Minutes writes a length of time as a player does.
func Minutes(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Percent writes a share of 1 as percent.
func Percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

// Bytes writes a size in powers of 1024.
func Bytes(v float64) string {
	for _, unit := range [...]string{"B", "K", "M", "G"} {
		if v < 1000 {
			if v < 10 && unit != "B" {
				return fmt.Sprintf("%.1f%s", v, unit)
			}
			return fmt.Sprintf("%.0f%s", v, unit)
		}
		v /= 1024
	}
	return fmt.Sprintf("%.1fT", v)
}

// Thousands writes a count in full, in groups of three digits.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Line returns what a line of a table says that begins with a word, a blank and a stroke; "" where there is none.
func Line(table, word string) string {
	_, rest, _ := strings.Cut("\n"+table, "\n"+word+" | ")
	says, _, _ := strings.Cut(rest, "\n")
	return says
}

// Plural returns n things, as in "1 key", "2 keys" and "3 batches".
func Plural(n int, thing string) string {
	if n != 1 {
		if strings.HasSuffix(thing, "ch") {
			thing += "e"
		}
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Are returns n things and the verb, as in "1 key is" and "2 keys are".
func Are(n int, thing string) string { return Plural(n, thing) + collect.If(n == 1, " is", " are") }

// Moments says which texts ReadMoment takes, for a message.
const Moments = "14:02:11, 2026-11-20 14:02:11, 30s for as long before, or +30s for after"

// ReadMoment reads a moment as a person types it: a date and a time of day, by this machine's
// time zone where the text has none; a time of day, of the last 24 hours before end; a duration
// before end, as in 30s, -30s or "30s ago"; or one after begin, as in +30s.
func ReadMoment(text string, begin, end limiter.Instant) (limiter.Instant, bool) {
	text = strings.TrimSuffix(strings.TrimSpace(text), " ago")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return limiter.InstantOf(at), true
	}
	// Fractions of a second are read with any layout.
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return limiter.InstantOf(at), true
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		local := end.Time().In(time.Local)
		at := time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		if at.After(local) {
			at = at.AddDate(0, 0, -1)
		}
		return limiter.InstantOf(at), true
	}
	number, after := strings.CutPrefix(text, "+")
	if !after {
		number = strings.TrimPrefix(text, "-")
	}
	d, err := time.ParseDuration(number)
	switch {
	case err != nil || d < 0:
		return 0, false
	case after:
		return begin.Add(d), true
	}
	return end.Add(-d), true
}
