package form

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Logs: a sorted set with a member for every request of the last window, whose score is its time and
// whose expiry is set to a window with the newest of them. An entry exactly a window old has left.

// Newest returns the number that the newest member's score is, and how long the key lives from there
// on, which is a window or a little more: the expiry is set after the clock was read. ok is false
// where s is no log: without an expiry, with scores in another unit, or with a newest one that is
// older than the key could be.
func Newest(s *decode.Sample, now limiter.Instant, unit time.Duration) (lives time.Duration, ok bool) {
	if len(s.First) == 0 || len(s.Last) == 0 || s.TTL <= 0 {
		return 0, false
	}
	first, last := s.First[0].Score, s.Last[len(s.Last)-1].Score
	if decode.UnitOf(first, now) != unit || decode.UnitOf(last, now) != unit {
		return 0, false
	}
	at := decode.InstantIn(last, unit)
	lives = now.Add(s.TTL).Sub(at)
	return lives, at < now.Add(time.Second) && lives > 0 && lives <= limiter.MaxWindow
}

// Spans says whether the members of a log lie within one window, as they do after every request that
// removes what is older.
func Spans(s *decode.Sample, unit, window time.Duration) bool {
	first, last := s.First[0].Score, s.Last[len(s.Last)-1].Score
	return decode.InstantIn(last, unit).Sub(decode.InstantIn(first, unit)) <= window
}

// BothEnds says whether is holds for the oldest and the newest member.
func BothEnds(s *decode.Sample, is func(decode.Element) bool) bool {
	return len(s.First) > 0 && len(s.Last) > 0 && is(s.First[0]) && is(s.Last[len(s.Last)-1])
}

// IsScore says whether a member is its score.
func IsScore(e decode.Element) bool {
	v, ok := Number(e.Member)
	return ok && v == e.Score
}

// HasFraction says whether the score of a member is not whole.
func HasFraction(e decode.Element) bool { return e.Score != math.Trunc(e.Score) }

// Logged returns the match of a log whose window is told by its expiry.
func Logged(window time.Duration, denied limiter.Denied, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Kind: decode.Log, Prefix: prefix, Why: why}
	m.Algorithm, m.Window, m.Guessed = limiter.SlidingLog, decode.Tidy(window), true
	m.Convention.Denied = denied
	return m
}

// LoggedSeconds returns the match of a log whose expiry every request sets to a window of whole
// seconds: its newest score tells the window, a little early or late as the clock is read.
func LoggedSeconds(lives time.Duration, denied limiter.Denied, prefix string, why ...string) *decode.Match {
	m := Logged(lives.Round(time.Second), denied, prefix, why...)
	m.Guessed = m.Window == 0
	return m
}
