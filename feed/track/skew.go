package track

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
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
		l.skew = model.Note(what + " up to " + format.Spaced(most) + " in the future (writer's clock)")
		l.note(l.skew, true)
	}
}
