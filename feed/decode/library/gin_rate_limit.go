package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// ginRateLimit is JGLTechnologies/gin-rate-limit: two strings, <key>hits and <key>ts, where key is
// the address of the client and the path. ts is the Unix second of the last admitted request, on
// the clock of the client, so that a window begins anew with every one of them. Each sets the
// expiry of both strings to two windows. Denied requests change nothing.
var ginRateLimit = &decode.Library{
	Name: "gin-rate-limit", Version: "1.5.4", Types: []string{"string"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, ok := strings.CutSuffix(s.Key, "hits")
		if !ok {
			base, ok = strings.CutSuffix(s.Key, "ts")
		}
		client, _, _ := strings.Cut(base, "/")
		if _, numeric := form.Count(s.Text); !ok || !numeric || s.TTL <= 0 || !c.Named && !form.IsAddress(client) {
			return nil
		}
		g := &gin{base: base}
		return &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.FixedWindow},
			Name:     base + "hits", Why: []string{"named <address of a client><path>hits", "its twin ts is two windows before their expiry"},
			Limiter: g, Siblings: g.Fetch(c.Now),
			Confirm: func(got []decode.Sample) bool {
				_, _, w := readGin(got, c.Now)
				return w > 0
			},
		}
	},
}

type gin struct{ base string }

// Fetch reads both strings.
func (g *gin) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: g.base + "hits", Type: "string"}, {Key: g.base + "ts", Type: "string"}}
}

// readGin returns the requests and the start of their window, and its length: half of the time
// from the stamp, rounded down to a second, to the expiry. It is 0 where the strings disagree.
func readGin(got []decode.Sample, now limiter.Instant) (hits int64, start limiter.Instant, window time.Duration) {
	hits, ok := form.Count(got[0].Text)
	second, numeric := form.Count(got[1].Text)
	if !ok || !numeric || second > 1e11 || got[0].TTL <= 0 || (got[0].TTL-got[1].TTL).Abs() > 2*form.Latency {
		return 0, 0, 0
	}
	start = limiter.Instant(second * 1e6)
	lives := int64((got[1].Expiry(now).Sub(start) + 5*time.Millisecond) / time.Second)
	window = time.Duration(lives/2) * time.Second
	if lives < 2 || lives%2 != 0 || now.Sub(start) < -form.Latency || window > limiter.MaxWindow {
		return 0, 0, 0
	}
	return hits, start, window
}

// Decode counts the requests since the window began.
func (g *gin) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: got[0].Type, TTL: got[0].TTL, Members: form.Members(got)}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	if !got[0].Exists() {
		return d
	}
	if d.State.Current, d.State.Start, d.Window = readGin(got, now); d.Window == 0 {
		d.Err = "holds two strings that do not agree, so that they are no counter of gin-rate-limit: correct its rule"
	}
	return d
}
