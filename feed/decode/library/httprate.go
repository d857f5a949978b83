package library

import (
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// httprateRedis is go-chi/httprate-redis: a counter a window in <prefix>:<hash>, where the hash, of
// 64 bits, is of the key and of the start of the window, so that neither which subject a counter is
// of, nor which two counters belong together, can be told. The expiry of three windows is renewed
// by every admitted request. A counter is one row; how much of it counts now is not known.
var httprateRedis = &decode.Library{
	Name: "httprate-redis", Version: "0.6.0", Types: []string{"string"},
	Silent: []string{"the limit", "denied requests", "which window and which subject a counter is of: its name is a hash of both"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		prefix, last, ok := form.LastPart(s.Key, ':')
		_, err := strconv.ParseUint(last, 10, 64)
		if !ok || err != nil || last[0] == '0' || !c.Named && (prefix != "httprate" || len(last) < 14) || !form.IsCounter(s) {
			return nil
		}
		m := &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.SlidingWindow},
			Prefix:   prefix + ":", Why: []string{"named httprate:<hash of 64 bits>", "an integer that expires"},
			Limiter: &hashed{key: s.Key},
		}
		return m
	},
}

// hashed is a counter of an unknown window.
type hashed struct {
	key     string
	longest time.Duration // the longest expiry seen
}

// Fetch reads the counter.
func (h *hashed) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: h.key, Type: "string"}}
}

// Decode says that at most what the counter holds counts, for it may be of a window long over.
func (h *hashed) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got), Partial: true, Notes: []model.Note{model.WindowUnknown}}
	d.Algorithm, d.Window = limiter.SlidingWindow, given.Window
	d.Convention.Rounding = limiter.RoundNearest
	if h.longest = max(h.longest, s.TTL); d.Window == 0 {
		if set := (h.longest + form.Latency).Truncate(time.Second); set%(3*time.Second) == 0 {
			d.Window, d.Guessed = set/3, true
		}
	}
	if s.Exists() && !form.IsCounter(s) {
		d.Err = form.NoCount
	}
	return d
}
