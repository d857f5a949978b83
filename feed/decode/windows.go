package decode

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Windows infers the windows of counters whose keys do not hold them: a counter expires when its
// window ends, so that the longest expiry seen over all limiters of a kind, those of one library
// with one prefix, is their window as soon as one of them was seen young enough. It is for one
// goroutine. A nil *Windows infers nothing.
type Windows struct {
	longest map[kindOf]time.Duration
}

// kindOf tells the limiters that share limit and window from others.
type kindOf struct{ library, prefix, suffix string }

func (m *Match) kind() kindOf {
	if m.Prefix == "" && m.Suffix == "" {
		return kindOf{m.Library.Name, m.Name, ""}
	}
	return kindOf{m.Library.Name, m.Prefix, m.Suffix}
}

// Meet learns from what a key held when it was recognized; m may be nil.
func (w *Windows) Meet(m *Match) {
	if m != nil {
		w.Learn(m, m.Span)
	}
}

// Learn notes that the window of m's kind lasts span or longer; 0 or less says nothing.
func (w *Windows) Learn(m *Match, span time.Duration) {
	if w == nil || m == nil || m.Library == nil || span <= 0 {
		return
	}
	k := m.kind()
	if span <= w.longest[k] || w.longest[k] == 0 && len(w.longest) >= mostKinds {
		return
	}
	if w.longest == nil {
		w.longest = make(map[kindOf]time.Duration)
	}
	w.longest[k] = span
}

// Of returns the window of m's kind, 0 while what was seen is not just below a period that people
// choose.
func (w *Windows) Of(m *Match) time.Duration {
	if w == nil || m == nil || m.Library == nil {
		return 0
	}
	return snapUp(w.longest[m.kind()])
}

// mostKinds bounds the memory: hostile names could make a kind of each key.
const mostKinds = 4096

// snapUp returns the shortest usual period that is at most 2 % longer than span, 0 for none: an
// expiry is read a little after it was set, so that it is never above the period.
func snapUp(span time.Duration) time.Duration {
	for _, w := range usual {
		if w >= span {
			if span > 0 && w-span <= w/50 {
				return w
			}
			return 0
		}
	}
	return 0
}

// usual are the Periods that most people choose: of a rarer one nothing is inferred, since each takes
// in the chance expiries just below it.
var usual = slices.DeleteFunc(slices.Clone(Periods[:]), func(p time.Duration) bool { return slices.Contains(rare, p) })

var rare = []time.Duration{
	4 * time.Second, 6 * time.Second, 8 * time.Second, 12 * time.Second, 40 * time.Second, 45 * time.Second, 90 * time.Second,
	4 * time.Minute, 45 * time.Minute,
}

// Periods are the windows that people choose, shortest first, for what tells its window all but
// exactly.
var Periods = [...]time.Duration{
	time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 8 * time.Second, 10 * time.Second,
	12 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 45 * time.Second,
	time.Minute, 90 * time.Second, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour,
	day, 2 * day, 3 * day, 7 * day, 14 * day, 28 * day, 30 * day, 31 * day, 90 * day, 365 * day,
}

const day = 24 * time.Hour

// spansPeriod says whether text is a list of numbers in JSON, or the beginning of one, of which one
// is an instant of the past, and the key expires a usual period after it: a log of requests, or the
// state of a bucket with the instant of its last one. Expiries are given when a request is decided,
// and often in whole seconds.
func spansPeriod(text string, now, expiry limiter.Instant) bool {
	if len(text) < 2 || text[0] != '[' {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(text[1:], "]"), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return false
		}
		unit := UnitOf(v, now)
		if unit == 0 {
			continue
		}
		at := InstantIn(v, unit)
		if at > now.Add(tatSlack) {
			continue
		}
		for _, p := range usual {
			if (expiry.Sub(at)-p).Abs() <= 1100*time.Millisecond && p >= 10*time.Second {
				return true
			}
		}
	}
	return false
}
