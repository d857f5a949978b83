package track

import (
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// skew measures how far the clocks of a limiter's writers are ahead of the server's: how far in
// the future their entries are. Clocks that are behind cannot be detected, because their entries
// look like late ones.
type skew struct {
	recent []time.Duration // skews of recent entries, the newest last
	note   model.Note      // the latest note; "" when no entry is in the future
}

// Bounds of the memory.
const (
	skewsKept    = 64
	skewsAtOnce  = 8 // from one reading
	skewsToJudge = 5 // needed for a median
)

// ahead adds a note if entries are in the future. what is the source of their instants,
// "scores" or "ids". arrivals came with this reading; if it is the first reading, it is unknown
// when they came, and they are not measured.
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
// that each gives a lower bound of its writer's skew.
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

// brief formats a duration with about two digits.
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
