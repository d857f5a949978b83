package track

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// ahead adds a note if entries are in the future: how far the clocks of a limiter's writers are ahead of the
// server's, at most. Clocks that are behind cannot be detected, because their entries look like late ones. what is
// the source of the instants, "scores" or "ids".
func (l *Tracker) ahead(what string, now limiter.Instant, entries []limiter.Entry) {
	l.note(l.skew, false)
	l.skew = ""
	most := time.Duration(0)
	if n := len(entries); n > 0 {
		most = entries[n-1].At.Sub(now)
	}
	if l.note(model.FutureScore, most > futureAllowed); most > futureAllowed {
		l.skew = model.Note(what + " up to " + brief(most) + " in the future (writer's clock)")
		l.note(l.skew, true)
	}
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
