package track

import (
	"regexp"
	"slices"
	"time"

	"ratescope/feed/decode/form"
	"ratescope/feed/track/infer"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/naming"
)

// withhold removes the figures of a limiter that is told without its layout where its keys say that the
// plain reading of its form is wrong, and notes why: its name holds a window, it counts down, or its times
// are the ends of leases. It reports whether it removed them.
func (l *Tracker) withhold(r *model.Reading) bool {
	if l.evidence != model.Told && !(l.evidence == model.Likely && l.target.LimitKnown) || l.rule != nil && l.rule.Layout != nil {
		return false
	}
	var named, down, leases bool
	switch b := l.decoder.(type) {
	case *singleDecoder:
		now := comesRound(b.key, l.target.Window, r.At)
		if l.inferred != nil && l.since != 0 && len(r.Arrivals) > 0 && !now && !comesRound(b.key, l.target.Window, l.since) {
			l.inferred.Plain(l.pattern) // it counted in the window of another number
		}
		seen, before := l.inferred.Terms(l.pattern), comesRound(b.key, l.target.Window, r.At.Add(-l.target.Window))
		named = form.Dated(b.key, r.At) || b.outlives && shortNumber.MatchString(b.key) || !seen.Plain && (now || before)
		down = b.fell || seen.Down || r.Type != "none" && r.TTL > 0 && r.State.Current == 0 || b.high && !b.rose && !seen.Up
	case *counterDecoder: // the number at the end of its name may be the end of a window
		w := l.target.Window
		windows := infer.Sign{Pattern: l.pattern}
		named = b.own == limiter.Unknown && slices.ContainsFunc(b.starts, func(start limiter.Instant) bool {
			if start > r.At.Add(clientAhead) {
				l.inferred.Show(windows, r.At)
			}
			return start > r.At || w > 0 && start.Floor(w) != start
		}) || l.inferred.Shown(windows, r.At) && b.own == limiter.Unknown
	case *logDecoder:
		n, ends := len(r.State.Log), infer.Sign{Pattern: l.pattern, Leases: true}
		if n > 0 && r.State.Log[n-1].At > r.At.Add(max(clientAhead, l.target.Window/4)) {
			l.inferred.Show(ends, r.At)
		}
		leases = n > 0 && l.inferred.Shown(ends, r.At)
	}
	l.note(model.WindowNamed, named)
	if down = down && l.evidence == model.Told; l.evidence == model.Told { // what is likely, infer reads as what is left
		l.note(model.CountsDown, down)
	}
	l.note(model.LeaseEnds, leases)
	withheld := named || down || leases
	r.Partial = r.Partial || withheld
	return withheld
}

// Review withholds the figures of a reading that was finished before another key of its pattern showed a sign.
func (l *Tracker) Review(r *model.Reading) {
	if l.withhold(r) {
		r.Notes = l.list()
	}
}

// comesRound says whether a short number in a name is that of the window at an instant.
func comesRound(key string, window time.Duration, at limiter.Instant) bool {
	_, ok := naming.Rounds(key, window, at)
	return ok
}

// shortNumber finds what may be the number of a window that comes round.
var shortNumber = regexp.MustCompile(`(?:^|[:_./|-])\d{1,2}(?:$|[:_./|-])`)

// clientAhead is how far the clock of a program may be ahead of the server's.
const clientAhead = 2 * time.Second
