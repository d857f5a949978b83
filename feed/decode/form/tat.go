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

// MatchTAT returns a match of GCRA where read takes s, else nil.
func MatchTAT(s *decode.Sample, c decode.Context, read readTAT, prefix string, why ...string) *decode.Match {
	if _, ok := read(s, c.Now); !ok {
		return nil
	}
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.GCRA},
		Prefix:   prefix, Why: why, Limiter: &TAT{key: s.Key, read: read},
	}
}

// TAT is GCRA in one string, which read knows.
type TAT struct {
	key     string
	read    readTAT
	Forgets bool // the key may expire before its time, and the backlog with it
}

// Fetch reads the theoretical arrival time.
func (t *TAT) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: t.key, Type: "string"}}
}

// Decode returns the time as the state of GCRA; limit, window and burst are those given.
func (t *TAT) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL}
	d.Algorithm, d.Window = limiter.GCRA, given.Window
	if !s.Exists() {
		return d
	}
	d.Members = []string{t.key}
	at, ok := t.read(s, now)
	if !ok {
		d.Err = "holds a value that is no theoretical arrival time (TAT) of its library: correct its rule"
		return d
	}
	d.State.TAT = at
	if t.Forgets {
		d.State.TAT = forgotten(at, s.Expiry(now), given)
	}
	return d
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
