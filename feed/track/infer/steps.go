package infer

import (
	"math"
	"time"

	"ratescope/limiter"
)

// steps collects the steps of a TAT, which moves in whole units while there is backlog.
type steps struct {
	moves   []float64     // the latest steps in microseconds, each of one or more units
	ceiling int64         // highest backlog of a TAT, in units
	stood   map[*key]bool // keys whose backlog has stayed at the ceiling
}

// mostMoves bounds steps.moves.
const mostMoves = 64

// moved adds a step; 0 and less is none.
func (s *steps) moved(d time.Duration) {
	if d <= 0 {
		return
	}
	if len(s.moves) >= mostMoves {
		s.moves = append(s.moves[:0], s.moves[1:]...)
	}
	s.moves = append(s.moves, float64(d)/1e3)
}

// learnTAT takes a reading of a theoretical arrival time (TAT). If the TAT was in the future at
// both readings, every admitted request has moved it by whole emission intervals.
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

// interval returns the longest interval that divides all steps. It is too long if every step is
// of several units; it is therefore sure only with eight steps of at least three different
// lengths, among them two of the shortest.
func (s *steps) interval() (f Figure[time.Duration]) {
	if len(s.moves) < 3 {
		return f
	}
	unit := s.moves[0]
	for _, m := range s.moves[1:] {
		if unit = common(unit, m); unit < 1000 { // below a millisecond there is no common interval
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

// common returns the longest time that divides both a and b, apart from some microseconds of
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

// tidyInterval rounds an interval to a second, a minute, an hour or a day divided by a whole
// number, if one is near, and else to the microsecond.
func tidyInterval(us float64) time.Duration {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		n := math.Round(float64(period.Microseconds()) / us)
		if n >= 1 && math.Abs(float64(period.Microseconds())/n-us) <= 1.5 {
			return time.Duration(math.Round(float64(period) / n))
		}
	}
	return time.Duration(us * 1e3).Round(time.Microsecond)
}

// burst returns how many units a GCRA admits at once: the backlog of a key that is denied
// requests stays within one unit below it.
func (s *steps) burst() (f Figure[int64]) {
	if s.ceiling == 0 || !s.interval().Sure {
		return f
	}
	return Figure[int64]{Value: s.ceiling, Known: true, Sure: len(s.stood) >= 3}
}

// Rate converts an interval to a limit in the shortest of a second, a minute, an hour and a day
// that contains a whole number of intervals; ok is false if none does.
func Rate(interval time.Duration) (l limiter.Limit, ok bool) {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if n := int64(math.Round(float64(period) / float64(interval))); n >= 1 && (period/time.Duration(n)-interval).Abs() <= 2*time.Microsecond {
			return limiter.Limit{Count: n, Window: period}, true
		}
	}
	return l, false
}
