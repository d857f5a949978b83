package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// How far the instant of a sample may lie from that of its expiry: the clock is estimated before
// the command runs, and expiries are whole milliseconds or whole seconds.
const (
	Latency     = 50 * time.Millisecond
	WholeSecond = time.Second
)

// readTAT reads the theoretical arrival time (TAT) of a sample; ok is false where the value is
// none, or where its expiry does not agree.
type readTAT func(s *decode.Sample, now limiter.Instant) (at limiter.Instant, ok bool)

// MatchTAT returns a match of GCRA in one string where read takes s, else nil. forgets says that the key
// may expire before its time, and the backlog with it.
func MatchTAT(s *decode.Sample, c decode.Context, read readTAT, forgets bool, prefix string, why ...string) *decode.Match {
	r := &Reader{
		Keys: Texts(s.Key), Settings: decode.Settings{Algorithm: limiter.GCRA}, Holds: "theoretical arrival time (TAT) of its library",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) (ok bool) {
			if d.State.TAT, ok = read(&got[0], now); forgets {
				d.State.TAT = forgotten(d.State.TAT, got[0].Expiry(now), given)
			}
			return ok
		},
	}
	return r.Match(s, c, decode.Match{Prefix: prefix, Why: why})
}

// forgotten returns the time at which a key that expires before its TAT says the same about the
// next request: with the key goes the backlog, so that it is admitted then at the latest.
func forgotten(at, expiry limiter.Instant, given decode.Settings) limiter.Instant {
	early := Emission(given) * float64(max(given.Limit.Burst, 1)-1)
	if given.Limit.Burst == 0 {
		early = Emission(given) * float64(max(given.Limit.Count, 1)-1)
	}
	if given.Limit.Count <= 0 || early >= 1<<52 {
		return at
	}
	return min(at, expiry+limiter.Instant(early))
}

// Emission returns the microseconds between two units of a limit, 0 where it is not known.
func Emission(s decode.Settings) float64 {
	if s.Limit.Count <= 0 || s.Window <= 0 {
		return 0
	}
	return float64(s.Window.Microseconds()) / float64(s.Limit.Count)
}
