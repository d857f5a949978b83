package track

import (
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// skew follows by how much the clocks of a limiter's writers are ahead of the server's: how
// far in the future the entries lie that they write. A clock that is behind cannot be told
// from entries that came late.
type skew struct {
	recent []time.Duration // of entries that came between two readings, newest last
	note   model.Note      // as it was told last; "" when nothing lies in the future
}

// Bounds of what is remembered.
const (
	skewsKept    = 64
	skewsAtOnce  = 8 // of one reading
	skewsToJudge = 5 // fewer do not make a rule
)

// ahead tells of entries in the future. what they are told by is "scores" or "ids";
// arrivals are those that came with this reading, and first says that there was none before,
// so that nothing is known of when they came.
func (l *Tracker) ahead(what string, now limiter.Instant, entries []limiter.Entry, arrivals []model.Arrival, first bool) {
	s := &l.skew
	l.note(model.FutureScore, false)
	l.note(s.note, false)
	s.note = ""
	if !first {
		s.learn(now, arrivals)
	}
	if len(entries) == 0 {
		return
	}
	most := entries[len(entries)-1].At.Sub(now)
	if most <= futureAllowed {
		return
	}
	l.note(model.FutureScore, true)
	s.note = model.Note(what + " up to " + brief(most) + " in the future")
	if usual, known := s.usual(); known && brief(usual) != brief(most) {
		s.note += model.Note(", " + brief(usual) + " as a rule")
	}
	s.note += " (writer's clock)"
	l.note(s.note, true)
}

// learn takes the entries that came with a reading. They were written a little before it, so
// that each is a lower bound of its writer's skew.
func (s *skew) learn(now limiter.Instant, arrivals []model.Arrival) {
	taken := 0
	for i := len(arrivals) - 1; i >= 0 && taken < skewsAtOnce; i-- {
		d := arrivals[i].At.Sub(now)
		if d <= futureAllowed {
			break
		}
		s.recent = append(s.recent, d)
		taken++
	}
	if n := len(s.recent); n > skewsKept {
		s.recent = append(s.recent[:0], s.recent[n-skewsKept:]...)
	}
}

// usual returns the median of the recent skews; known is false while there are too few.
func (s *skew) usual() (d time.Duration, known bool) {
	if len(s.recent) < skewsToJudge {
		return 0, false
	}
	sorted := slices.Clone(s.recent)
	slices.Sort(sorted)
	return sorted[len(sorted)/2], true
}

// brief writes a duration with two digits or so.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(10*time.Millisecond)/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
