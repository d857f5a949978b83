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
	var blocked Instant
	counted := r.algorithm == FixedWindow || r.algorithm == SlidingWindow
	switch {
	case r.convention.Block > 0 && len(vals) == want+1:
		blocked, vals = Instant(vals[want]), vals[:want]
	case (counted || r.algorithm == GCRA) && len(vals) == want-1:
		vals = append(vals, 0) // the usual last value is left out
	}
	if len(vals) != want {
		return Decision{}, fmt.Errorf("the script for %s answered %d values instead of %d", r.algorithm, len(vals), want)
	}
	if vals[1] < 0 || vals[1] > latest {
		return Decision{}, fmt.Errorf("the script for %s answered the instant %d, which no clock shows", r.algorithm, vals[1])
	}
	a := &asked{now: Instant(vals[1]), limit: b.limit, w: b.limit.micros(), c: r.convention, n: n, most: r.algorithm.most(b.limit), alg: r.algorithm, blocked: blocked}
	d := Decision{At: a.now, Limit: b.limit, Cost: n, Allowed: vals[0] == 1}
	switch r.algorithm {
	case FixedWindow:
		c := counters{start: a.aligned(), current: vals[2]}
		switch said := Instant(vals[3]); {
		case r.convention.Alignment == FirstRequest && said > 0: // its end
			c.start = said - Instant(a.w+a.edge())
		case r.convention.Alignment == FirstRequest:
			c.start = a.now
		case said > 0: // not the clock-aligned one
			c.start = said
		}
		a.judge(&d, peek, a.fits(c.current))
		c.explainFixed(&d, a)
	case SlidingWindow:
		c := counters{start: a.aligned(), current: vals[2], previous: vals[3]}
		if vals[4] > 0 { // not the clock-aligned one
			c.start = Instant(vals[4])
		}
		c.previousStart = c.start - Instant(a.w)
		left := covered(c.previousStart, a.now, a.w)
		faded := a.weighted(c.previous, left)
		a.judge(&d, peek, a.weightedFits(c.previous, c.current, left, faded))
		c.explainSliding(&d, a, left, faded)
	case SlidingLog, StreamCounter:
		a.judge(&d, peek, a.fits(vals[2]))
		explainUsed(&d, a, vals[2], Instant(vals[3]), Instant(vals[4]))
	case GCRA:
		if a.limit.Count == 0 {
			a.judge(&d, peek, true)
			break
		}
		f := a.emission()
		ahead := a.ahead(f, told(Instant(vals[2]), vals[3], b.den))
		early := f.sub(f.add(ahead, f.times(n)), f.times(a.most))
		a.judge(&d, peek, a.n == 0 || !early.positive())
		a.explainGCRA(&d, f, ahead, early)
	case TokenBucket, LeakyBucket:
		f := a.refill()
		filled := f.kept(told(Instant(vals[3]), vals[4], b.den))
		held := bucket{refill: f, used: vals[2], since: f.sub(moment{us: int64(a.now)}, filled)}
		a.judge(&d, peek, held.fits(a))
		held.explain(&d, a)
	}
	a.close(&d)
	return d, nil
}

// judge says whether a request is allowed: the script did, unless it only looked. It is
// not believed where it contradicts itself.
func (a *asked) judge(d *Decision, peek, fits bool) {
	if peek {
		d.Allowed = fits
	}
	d.Allowed = d.Allowed && !a.refused()
}

// aligned is the start of the clock-aligned window that holds now.
func (a *asked) aligned() Instant {
	past := int64(a.now) % a.w
	if past < 0 {
		past += a.w
	}
	return a.now - Instant(past)
}
