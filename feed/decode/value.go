package decode

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// moment is an instant with a fraction of a microsecond, as this library writes it:
// "us" or "us:part:parts".
type moment struct {
	At          limiter.Instant
	Part, Parts int64
}

func ParseMoment(s string) (moment, bool) {
	whole, rest, fraction := strings.Cut(s, ":")
	us, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || us < 0 || us >= 1<<53 {
		return moment{}, false
	}
	m := moment{At: limiter.Instant(us)}
	if !fraction {
		return m, true
	}
	part, parts, _ := strings.Cut(rest, ":")
	var perr, qerr error
	m.Part, perr = strconv.ParseInt(part, 10, 64)
	m.Parts, qerr = strconv.ParseInt(parts, 10, 64)
	if perr != nil || qerr != nil || m.Part < 0 || m.Parts <= m.Part {
		return moment{}, false
	}
	return m, true
}

// Where TATs of other programs begin to count.
const epoch2017 = 1483228800 // redis_rate: seconds since 1 January 2017, UTC

// ReadTAT reads a string as a theoretical arrival time and says in what unit it is
// written; unit 0 is this library's own. What tells it from any other number: with others
// the key expires at its TAT; with this library it lives as long as a TAT can lie ahead,
// and sixteen digits that are an instant of this time are nothing else.
func ReadTAT(text string, now limiter.Instant, ttl time.Duration) (m moment, unit time.Duration, ok bool) {
	ends := now.Add(ttl)
	fits := func(at limiter.Instant) bool {
		return ttl > 0 && at.Sub(ends).Abs() <= tatSlack
	}
	if m, ok = ParseMoment(text); ok && ttl > 0 && m.At <= ends.Add(tatSlack) && now.Sub(m.At) <= limiter.MaxWindow {
		return m, 0, true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return moment{}, 0, false
	}
	if strings.ContainsAny(text, ".e") || v < 1e9 {
		if at := InstantIn(v+epoch2017, time.Second); fits(at) {
			return moment{At: at}, time.Second, true
		}
	}
	if u := UnitOf(v, now); u != 0 {
		if at := InstantIn(v, u); fits(at) {
			return moment{At: at}, u, true
		}
	}
	return moment{}, 0, false
}

// NoTAT says why a string that ReadTAT does not take is no theoretical arrival time, and
// what to do: a clause that goes on after the name of the key. It does not repeat the value,
// which may be a secret of another program.
func NoTAT(text string, now limiter.Instant, ttl time.Duration) string {
	const remedy = "correct --algorithm or its rule"
	v, err := strconv.ParseFloat(text, 64)
	m, own := ParseMoment(text)
	if own {
		v, err = float64(m.At), nil
	}
	unit := UnitOf(v, now)
	const theirs = "GCRA's keys expire at their theoretical arrival time (TAT)"
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Sprintf("holds a string that is no number and so no theoretical arrival time (TAT) of GCRA: %s", remedy)
	case unit == 0:
		return fmt.Sprintf("holds a number that is no theoretical arrival time (TAT) of GCRA: "+
			"as seconds, milliseconds or microseconds it is no time of these years: %s", remedy)
	}
	at := InstantIn(v, unit).Time().UTC().Format(time.DateTime)
	if ttl <= 0 {
		return fmt.Sprintf("holds a time (%s UTC) in a key without expiry, and %s: %s", at, theirs, remedy)
	}
	ends := now.Add(ttl).Time().UTC().Format(time.DateTime)
	return fmt.Sprintf("holds the time %s UTC and expires at %s UTC, but %s: %s", at, ends, theirs, remedy)
}

// tatSlack is how far a TAT and the expiry of its key may lie apart: expiries are often
// rounded up to whole seconds.
const tatSlack = 1500 * time.Millisecond

// Number reads a field of a hash.
func Number(v any) (float64, bool) {
	text, ok := v.(string)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && math.Abs(n) < 1<<53
}

// hashFields are asked of a hash to see whether it is a bucket.
var hashFields = []string{"tokens", "level", "at"}

// bucketField tells which bucket the fields are of; "" when they are of none.
func bucketField(fields map[string]string) (field string, ok bool) {
	if _, ok := ParseMoment(fields["at"]); !ok {
		return "", false
	}
	for _, name := range hashFields[:2] {
		if text, held := fields[name]; held {
			if _, ok := Number(text); ok {
				return name, true
			}
		}
	}
	return "", false
}

// Units are the measures in which others write a time as a number.
var Units = [...]time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// UnitOf tells by its magnitude in which unit v is a time not too far from now: between
// half and one and a half of the server's clock. 0 means that it is none: negative,
// not a number, of 1970 or of a far future.
func UnitOf(v float64, now limiter.Instant) time.Duration {
	seconds := float64(now) / 1e6
	for _, u := range Units {
		if lo, hi := Plausible(u, seconds); v >= lo && v <= hi {
			return u
		}
	}
	return 0
}

// Plausible returns the range of numbers that are times in unit u.
func Plausible(u time.Duration, seconds float64) (lo, hi float64) {
	per := float64(time.Second / u)
	return seconds * per / 2, seconds * per * 1.5
}

// InstantIn converts v, a number of units since the epoch, to an Instant, rounded down
// to the microsecond.
func InstantIn(v float64, unit time.Duration) limiter.Instant {
	switch {
	case unit > time.Microsecond: // fractions are common: 1700000000.123456
		return limiter.Instant(math.Round(v * float64(unit/time.Microsecond)))
	case unit < time.Microsecond:
		return limiter.Instant(math.Floor(v / 1e3))
	}
	return limiter.Instant(v)
}

// TimeText reads an instant that is written with its date, its time and its zone, as programs write one in JSON.
func TimeText(text string) (at limiter.Instant, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return min(limiter.InstantOf(t), 1<<53), err == nil // the year 2255, up to which Instant.Sub holds
}

// LeadingTime returns the number with which a text begins that goes on with an id, and is long enough to be a time.
func LeadingTime(text string) (number string, ok bool) {
	rest := strings.TrimLeft(text, "0123456789.")
	number = text[:len(text)-len(rest)]
	return number, len(number) >= 10 && len(rest) > 1 && strings.IndexByte(":|_,;#-", rest[0]) >= 0
}

// serialized finds a whole number that is written with its type: by Jackson, by PHP, and as a text of JSON.
var serialized = collect.Regexp(`^(?:\["java\.lang\.(?:Integer|Long)",(\d{1,15})\]|i:(\d{1,15});|"(\d{1,15})")$`)

// Serialized returns the whole number that a text writes with its type, "" where it is none.
func Serialized(text string) string {
	if found := serialized().FindStringSubmatch(text); found != nil {
		return found[1] + found[2] + found[3]
	}
	return ""
}

// NumberIn is the inverse of InstantIn.
func NumberIn(at limiter.Instant, unit time.Duration) float64 {
	if unit < time.Microsecond {
		return float64(at) * 1e3
	}
	return float64(at) / float64(unit/time.Microsecond)
}

// Score formats a ZSET score so that the server reads back exactly v.
func Score(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', 17, 64)
}

// Nice are the windows that people choose, longest first; they are tried where only one
// start is known.
var Nice = [...]time.Duration{
	24 * time.Hour, 12 * time.Hour, 6 * time.Hour, time.Hour, 30 * time.Minute, 15 * time.Minute, 10 * time.Minute,
	5 * time.Minute, 2 * time.Minute, time.Minute, 30 * time.Second, 20 * time.Second, 15 * time.Second,
	10 * time.Second, 5 * time.Second, 2 * time.Second, time.Second,
}

// Tidy rounds a measured window to what was probably meant: expiries are set a little
// after the instant that they are measured from, and often in whole seconds.
func Tidy(w time.Duration) time.Duration {
	for _, step := range [...]time.Duration{time.Minute, time.Second, 100 * time.Millisecond} {
		near := w.Round(step)
		if near > 0 && (w-near).Abs() <= max(near/200, 5*time.Millisecond) && (w-near).Abs() <= 400*time.Millisecond {
			return near
		}
	}
	return w.Round(time.Millisecond)
}

// ID is the id of a stream entry: milliseconds and a sequence number.
type ID struct{ ms, seq uint64 }

func ParseID(s string) (ID, bool) {
	left, right, _ := strings.Cut(s, "-")
	ms, err := strconv.ParseUint(left, 10, 64)
	if err != nil {
		return ID{}, false
	}
	seq, err := strconv.ParseUint(right, 10, 64)
	return ID{ms, seq}, err == nil || right == ""
}

// Next returns the smallest id after i.
func (i ID) Next() ID {
	if i.seq == 1<<64-1 {
		return ID{i.ms + 1, 0}
	}
	return ID{i.ms, i.seq + 1}
}

// After says whether i is a later id than o.
func (i ID) After(o ID) bool { return i.ms > o.ms || i.ms == o.ms && i.seq > o.seq }

func (i ID) String() string { return fmt.Sprintf("%d-%d", i.ms, i.seq) }

// At returns the instant of the id. Ids may be chosen freely by the writer, so that the
// number may be far beyond what an Instant holds.
func (i ID) At() limiter.Instant {
	const most = 1 << 52 / 1000
	return limiter.Instant(min(i.ms, most) * 1000)
}

// Fine returns the instant of an id of this library, whose sequence number holds the
// microsecond, plus one, above fifteen digits of the running total.
func (i ID) Fine() limiter.Instant {
	const totals = 1_000_000_000_000_000
	if us := i.seq / totals; us >= 1 && us <= 1000 {
		return i.At() + limiter.Instant(us-1)
	}
	return i.At()
}

// IdAt returns the first id of the millisecond that holds at.
func IdAt(at limiter.Instant) ID { return ID{ms: uint64(max(at.Millis(), 0))} }

// CountOf reads the fields of an entry, of which one holds the count. A count that is missing or no number above
// zero stands for 1.
func CountOf(values map[string]any, field string) (n, total int64, hasCount, hasTotal bool) {
	read := func(field string) (int64, bool) {
		s, _ := values[field].(string)
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 || v >= 1<<53 {
			return 0, false
		}
		return v, true
	}
	n, hasCount = read(field)
	if !hasCount {
		n = 1
	}
	total, hasTotal = read("total")
	return n, total, hasCount, hasTotal
}
