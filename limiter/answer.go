package limiter

import (
	"fmt"
	"strconv"
	"strings"
)

// maxValues is how many numbers the longest answer about one limit has.
const maxValues = 6

// latest is the last instant, in 2255, that a number of Lua holds exactly.
const latest = 1 << 53

// numbers appends the numbers of a script's answer.
func numbers(vals []int64, text string) ([]int64, error) {
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the script answered %q, which is not a list of whole numbers", text)
		}
		vals, text = append(vals, v), rest
	}
	return vals, nil
}

// decode turns a script's answer into the whole decision.
func (r *Redis) decode(key string, b *boxed, n int64, peek bool, text string) (Decision, error) {
	var all [maxValues]int64
	vals, err := numbers(all[:0], text)
	if err != nil {
		return Decision{}, err
	}
	return r.decodeValues(key, b, n, peek, vals)
}

func (r *Redis) decodeValues(key string, b *boxed, n int64, peek bool, vals []int64) (Decision, error) {
	s := State{Algorithm: r.algorithm}
	want := 5
	if r.algorithm == FixedWindow || r.algorithm == GCRA {
		want = 4
	}
	if len(vals) > 0 && vals[0] == -1 && r.units() {
		return Decision{}, fmt.Errorf("%w: stream %q holds more than %d entries, which is too many for a stream of units: use running totals", ErrNotOnStore, key, mostUnits)
	}
	if len(vals) > 0 && vals[0] == -1 {
		return Decision{}, fmt.Errorf("stream %q holds entries without running totals, so another program keeps it: use the layout for untotalled streams", key)
	}
	if len(vals) > 1 && vals[0] > 1 { // admitted at a second and a microsecond of it
		vals[0], vals[1] = 1, vals[0]*1_000_000+vals[1]
	}
	counters := r.algorithm == FixedWindow || r.algorithm == SlidingWindow
	switch {
	case r.convention.Block > 0 && len(vals) == want+1:
		s.BlockedUntil, vals = Instant(vals[want]), vals[:want]
	case (counters || r.algorithm == GCRA) && len(vals) == want-1:
		vals = append(vals, 0) // the usual last value is left out
	}
	if len(vals) != want {
		return Decision{}, fmt.Errorf("the script for %s answered %d values instead of %d", r.algorithm, len(vals), want)
	}
	if vals[1] < 0 || vals[1] > latest {
		return Decision{}, fmt.Errorf("the script for %s answered the instant %d, which no clock shows", r.algorithm, vals[1])
	}
	a := &asked{now: Instant(vals[1]), limit: b.limit, w: b.limit.micros(), c: r.convention, n: n, alg: r.algorithm}
	d := Decision{At: a.now, Limit: b.limit, Cost: n, Allowed: vals[0] == 1}
	switch r.algorithm {
	case FixedWindow:
		s.Start, s.Current = a.aligned(), vals[2]
		switch told := Instant(vals[3]); {
		case r.convention.Alignment == FirstRequest && told > 0: // its end
			s.Start = told - Instant(a.w+a.edge())
		case r.convention.Alignment == FirstRequest:
			s.Start = a.now
		case told > 0: // not the clock-aligned one
			s.Start = told
		}
		d.Allowed = judge(d.Allowed, peek, &s, a, s.fixedFits(a))
		s.explainFixed(&d, a)
	case SlidingWindow:
		s.Start, s.Current, s.Previous = a.aligned(), vals[2], vals[3]
		if vals[4] > 0 { // not the clock-aligned one
			s.Start = Instant(vals[4])
		}
		s.PreviousStart = s.Start - Instant(a.w)
		d.Allowed = judge(d.Allowed, peek, &s, a, s.slidingFits(a))
		s.explainSliding(&d, a)
	case SlidingLog, StreamCounter:
		d.Allowed = judge(d.Allowed, peek, &s, a, a.fits(vals[2]))
		explainUsed(&d, a, vals[2], Instant(vals[3]), Instant(vals[4]))
	case GCRA:
		s.TAT, s.Part, s.Parts = Instant(vals[2]), vals[3], b.den
		d.Allowed = judge(d.Allowed, peek, &s, a, s.gcraFits(a))
		s.explainGCRA(&d, a)
	case TokenBucket, LeakyBucket:
		at := a.refill(r.algorithm).kept(Instant(vals[3]), vals[4], b.den)
		held := drained{used: vals[2], at: at}
		d.Allowed = judge(d.Allowed, peek, &s, a, held.fits(a))
		s.explainBucket(&d, a, held)
	}
	s.close(&d, a)
	return d, nil
}

// judge says whether a request is allowed: the script did, unless it only looked. It is
// not believed where it contradicts itself.
func judge(allowed, peek bool, s *State, a *asked, fits bool) bool {
	if peek {
		allowed = fits
	}
	return allowed && s.BlockedUntil <= a.now && !a.never()
}

// aligned is the start of the clock-aligned window that holds now.
func (a *asked) aligned() Instant { return Instant(floorDiv(int64(a.now), a.w) * a.w) }
