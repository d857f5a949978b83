package decode

import (
	"fmt"
	"strconv"
	"strings"

	"ratescope/limiter"
)

// LaterID says whether the id a, as text, is later than b.
func LaterID(a, b string) bool {
	x, _ := ParseID(a)
	y, _ := ParseID(b)
	return x.After(y)
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

// CountOf reads the fields of an entry. A count that is missing or no number above
// zero stands for 1.
func CountOf(values map[string]any) (n, total int64, hasCount, hasTotal bool) {
	read := func(field string) (int64, bool) {
		s, ok := values[field].(string)
		if !ok {
			return 0, false
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 || v >= 1<<53 {
			return 0, false
		}
		return v, true
	}
	n, hasCount = read("count")
	if !hasCount {
		n = 1
	}
	total, hasTotal = read("total")
	return n, total, hasCount, hasTotal
}
