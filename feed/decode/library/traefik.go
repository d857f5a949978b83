package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// traefik is the middleware rateLimit of Traefik: a token bucket in a hash
// rate:<middleware>@<provider>:<source> of last, in microseconds, and tokens, a fraction, which is
// below zero while requests wait. A request that has to wait for at most half of the time between
// two tokens, or half a second below one a second, is admitted. The expiry is 2 s, or from there
// below one a second as long as a token takes. Rate and burst are not kept.
var traefik = &decode.Library{
	Name: "traefik", Version: "3.7.13", Published: true, Types: []string{"hash"}, Fields: []string{"last", "tokens"},
	Silent: []string{"rate and burst", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		rest, ok := strings.CutPrefix(s.Key, "rate:")
		if !c.Named && (!ok || !strings.Contains(rest, "@") || !strings.Contains(rest, ":")) {
			return nil
		}
		if _, _, ok := readTraefik(s, c.Now); !ok {
			return nil
		}
		return &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.TokenBucket},
			Prefix:   "rate:", Why: []string{"named rate:<middleware>@<provider>:<source>",
				"a hash of nothing but last, a time in microseconds, and tokens"},
			Limiter: &traefikBucket{s.Key},
		}
	},
}

type traefikBucket struct{ key string }

// Fetch reads the hash.
func (b *traefikBucket) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.key, Type: "hash", Fields: []string{"last", "tokens"}}}
}

func readTraefik(s *decode.Sample, now limiter.Instant) (tokens float64, last limiter.Instant, ok bool) {
	tokens, ok = form.Number(s.Fields["tokens"])
	us, numeric := form.Count(s.Fields["last"])
	last = limiter.Instant(us)
	return tokens, last, ok && numeric && s.Length == 2 && s.TTL > 0 && decode.UnitOf(float64(us), now) == time.Microsecond
}

// Decode returns the bucket as it will be when a request that comes now has waited its longest.
func (b *traefikBucket) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL}
	d.Algorithm, d.Window = limiter.TokenBucket, given.Window
	if !s.Exists() {
		return d
	}
	d.Members = form.Members(got)
	tokens, last, ok := readTraefik(s, now)
	if !ok {
		d.Err = "holds a hash that is no token bucket of Traefik: correct its rule, or remove the key"
		return d
	}
	step := form.Emission(given)
	form.SetTokens(&d, tokens, last, step)
	if step > 0 {
		wait := 500_000.0
		if perSecond := 1e6 / step; perSecond >= 1 {
			wait = 500_000 / float64(int64(perSecond))
		}
		d.State.Filled -= limiter.Instant(wait)
	}
	return d
}
