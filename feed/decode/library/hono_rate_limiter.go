package library

import (
	"encoding/json"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// honoRateLimiter is hono-rate-limiter with the Redis store in it or that of
// @hono-rate-limiter/redis: hrl:<id>, INCR, and PEXPIRE while there is no expiry; denied requests are
// counted. With resetExpiryOnChange every request sets the expiry anew.
var honoRateLimiter = &decode.Library{
	Name: "hono-rate-limiter", Version: "0.5.4", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if _, ok := readHits(s.Text); ok && (c.Named || strings.Contains(s.Key, "hrl:")) {
			m := &decode.Match{
				Prefix: form.PrefixOf(s.Key), Why: []string{"named hrl:<id>", "JSON with totalHits and resetTime"},
				Limiter: &hits{key: s.Key},
			}
			m.Algorithm = limiter.FixedWindow
			return m
		}
		if !c.Named && !strings.HasPrefix(s.Key, "hrl:") || !form.IsCounter(s) {
			return nil
		}
		return form.Counted(&form.Counter{Key: s.Key, Charged: true}, s, form.PrefixOf(s.Key), "named hrl:<id>")
	},
}

// hits is the state of hono-rate-limiter's UnstorageStore: JSON in a string that never expires, which
// counts until its resetTime.
type hits struct{ key string }

type hitsValue struct {
	Total *int64 `json:"totalHits"`
	Reset string `json:"resetTime"`
}

// readHits reads the JSON, which has these two fields and no others.
func readHits(text string) (v hitsValue, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return v, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&v) != nil || d.More() || v.Total == nil || *v.Total < 0 || *v.Total >= 1<<53 {
		return v, false
	}
	_, err := time.Parse(time.RFC3339Nano, v.Reset)
	return v, err == nil
}

// Fetch reads the JSON.
func (h *hits) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: h.key, Type: "string", Bytes: 128}}
}

// Decode counts the hits until the reset.
func (h *hits) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Charged: true, Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	d.Window, d.Guessed = given.Window, given.Guessed
	if !s.Exists() {
		return d
	}
	v, ok := readHits(s.Text)
	if !ok {
		d.Err = "holds a string that is no state of hono-rate-limiter: correct its rule, or remove the key"
		return d
	}
	reset, _ := time.Parse(time.RFC3339Nano, v.Reset)
	d.Ends = limiter.Instant(reset.UnixMicro())
	d.Span = d.Ends.Sub(now)
	d.State.Start = now
	if d.Window > 0 {
		d.State.Start = d.Ends.Add(-d.Window)
	}
	if now < d.Ends {
		d.State.Current = *v.Total
	}
	return d
}
