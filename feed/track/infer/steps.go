package infer

import (
	"math"
	"time"

	"ratescope/limiter"
)

// steps gathers by how much times moved on that do so in whole units: a TAT while there is
// backlog, the instant to which a bucket was filled.
type steps struct {
	moves   []float64 // microseconds, of a unit or several; the last mostMoves of them
	ceiling int64     // highest backlog in units
	stood   map[*key]bool
	highest float64 // level of a bucket
}

const mostMoves = 64

func (s *steps) moved(d time.Duration) {
	if d <= 0 {
		return
	}
	if len(s.moves) >= mostMoves {
		s.moves = append(s.moves[:0], s.moves[1:]...)
	}
	s.moves = append(s.moves, float64(d)/1e3)
}

// learnTAT takes a reading of a theoretical arrival time. While it lay ahead at both readings,
// every admitted request moved it by whole emission intervals.
func (s *steps) learnTAT(was, now *key) {
	if was.at == 0 || !was.present || !now.present || was.mark <= now.at || was.mark == 0 {
		return
	}
	s.moved(now.mark.Sub(was.mark))
	interval := s.interval()
	if !interval.Sure {
		return
	}
	units := int64(math.Ceil(float64(now.mark.Sub(now.at))/float64(interval.Value) - 1e-3))
	if now.ceiling, now.stood = units, 1; units == was.ceiling && now.mark != was.mark {
		now.stood = was.stood + 1
	} else if units == was.ceiling {
		now.stood = was.stood
	}
	if units > s.ceiling {
		s.ceiling = units
		clear(s.stood)
	}
	if units == s.ceiling && now.stood >= 5 {
		if s.stood == nil {
			s.stood = make(map[*key]bool)
		}
		s.stood[was] = true
	}
}

// learnBucket takes a reading of a bucket. The instant to which it was filled moves by whole
// refill intervals where fractions of a token are kept as time.
func (s *steps) learnBucket(was, now *key) {
	if !now.present {
		return
	}
	s.highest = max(s.highest, now.level)
	if was.present && was.mark != 0 && was.level < s.highest && now.level < s.highest {
		s.moved(now.mark.Sub(was.mark))
	}
}

// interval returns the longest time of which all moves are multiples. Moves of several units each
// would make it too long, so that moves of three different lengths have to be among eight, the
// shortest of them twice.
func (s *steps) interval() (f Figure[time.Duration]) {
	if len(s.moves) < 3 {
		return f
	}
	unit := s.moves[0]
	for _, m := range s.moves[1:] {
		if unit = common(unit, m); unit < 1000 { // a millisecond: no multiple of anything
			return f
		}
	}
	sum, units := 0.0, 0.0
	lengths := make(map[int64]int)
	for _, m := range s.moves {
		n := math.Round(m / unit)
		lengths[int64(n)]++
		sum, units = sum+m, units+n
	}
	f.Value, f.Known = tidyInterval(sum/units), true
	f.Sure = len(s.moves) >= 8 && len(lengths) >= 3 && lengths[1] >= 2
	return f
}

// common returns the longest time of which a and b are multiples, but for some microseconds of
// rounding.
func common(a, b float64) float64 {
	const slack = 4
	for b > slack {
		rest := math.Mod(a, b)
		if b-rest < slack {
			rest = 0
		}
		a, b = b, rest
	}
	return a
}

// tidyInterval returns the interval that was probably meant: a second, a minute, an hour or a day
// divided by a whole number.
func tidyInterval(us float64) time.Duration {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		n := math.Round(float64(period.Microseconds()) / us)
		if n >= 1 && math.Abs(float64(period.Microseconds())/n-us) <= 1.5 {
			return time.Duration(math.Round(float64(period) / n))
		}
	}
	return time.Duration(us * 1e3).Round(time.Microsecond)
}

// burst returns how many units a GCRA admits at once: the backlog of keys that are denied stays
// within one unit below it, however it moves.
func (s *steps) burst() (f Figure[int64]) {
	if s.ceiling == 0 || !s.interval().Sure {
		return f
	}
	return Figure[int64]{Value: s.ceiling, Known: true, Sure: len(s.stood) >= 3}
}

// capacity returns the highest level that was seen. It is never sure: what is stored is what a
// request left, so that no bucket that is used is ever seen full.
func (s *steps) capacity() (f Figure[int64]) {
	if s.highest < 1 || s.highest >= 1<<53 || s.highest != math.Trunc(s.highest) {
		return f
	}
	return Figure[int64]{Value: int64(s.highest), Known: true}
}

// Rate writes an interval as a limit: so many units in the shortest of a second, a minute, an hour
// and a day that holds a whole number of them. ok is false where none does.
func Rate(interval time.Duration) (l limiter.Limit, ok bool) {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if n := int64(math.Round(float64(period) / float64(interval))); n >= 1 && (period/time.Duration(n)-interval).Abs() <= 2*time.Microsecond {
			return limiter.Limit{Count: n, Window: period}, true
		}
	}
	return l, false
}
