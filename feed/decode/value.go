package decode

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
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
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Sprintf("holds a string that is no number and so no theoretical arrival time (TAT) of GCRA: %s", remedy)
	case unit == 0:
		return fmt.Sprintf("holds a number that is no theoretical arrival time (TAT) of GCRA: as seconds, milliseconds or microseconds it is no time of these years: %s", remedy)
	}
	at := InstantIn(v, unit).Time().UTC().Format(time.DateTime)
	if ttl <= 0 {
		return fmt.Sprintf("holds a time (%s UTC) in a key without expiry, and GCRA's keys expire at their theoretical arrival time (TAT): %s", at, remedy)
	}
	ends := now.Add(ttl).Time().UTC().Format(time.DateTime)
	return fmt.Sprintf("holds the time %s UTC and expires at %s UTC, but GCRA's keys expire at their theoretical arrival time (TAT): %s", at, ends, remedy)
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
