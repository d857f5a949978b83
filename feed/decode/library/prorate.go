package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// prorate is the gem prorate: a leaky bucket in <name>:<SHA-1>.bucket_level and .last_updated,
// which expire a period after the last call, and .block, the instant until which a client that
// overran is refused, written by the denied request. The limit drains within the period.
var prorate = &decode.Library{
	Name: "prorate", Version: "0.7.1", Published: true, Types: []string{"string"},
	Silent: []string{"the limit", "denied requests, but for the block"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, field, ok := form.LastPart(s.Key, '.')
		digest := base[strings.LastIndexByte(base, ':')+1:]
		if !ok || field != "bucket_level" && field != "last_updated" && field != "block" || !form.IsHex(digest, 40) || s.TTL <= 0 {
			return nil
		}
		if _, ok := form.Number(s.Text); !ok {
			return nil
		}
		b := &prorateBucket{base: base}
		m := &decode.Match{
			Name: base + ".bucket_level", Prefix: strings.TrimSuffix(base, digest), Suffix: ".bucket_level", Limiter: b,
			Why: []string{"named <name>:<digest>.bucket_level, .last_updated and .block",
				"they expire a period after the time of the last call"},
			Siblings: b.Fetch(c.Now),
			Confirm: func(got []decode.Sample) bool {
				_, _, _, ok := b.read(got, c.Now)
				return ok
			},
		}
		m.Algorithm = limiter.LeakyBucket
		return m
	},
}

type prorateBucket struct{ base string }

// Fetch reads level, time and block.
func (b *prorateBucket) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{
		{Key: b.base + ".bucket_level", Type: "string"}, {Key: b.base + ".last_updated", Type: "string"},
		{Key: b.base + ".block", Type: "string"},
	}
}

// read tells the period by the expiry, which is that and a part of a second after the last call.
func (b *prorateBucket) read(got []decode.Sample, now limiter.Instant) (level float64, at limiter.Instant, period time.Duration, ok bool) {
	level, lok := form.Number(got[0].Text)
	updated, uok := form.Number(got[1].Text)
	if !lok || !uok || level < 0 || got[1].TTL <= 0 || decode.UnitOf(updated, now) != time.Second ||
		(got[0].TTL-got[1].TTL).Abs() > 2*form.Latency {
		return 0, 0, 0, false
	}
	at = decode.InstantIn(updated, time.Second)
	lives := got[1].Expiry(now).Sub(at)
	period = lives.Round(time.Second)
	return level, at, period, period > 0 && period <= limiter.MaxWindow && (lives-period).Abs() <= 2*form.Latency
}

// Decode returns the bucket, and the block until its key expires.
func (b *prorateBucket) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: "none", Members: form.Members(got)}
	d.Algorithm, d.Window = limiter.LeakyBucket, given.Window
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		}
	}
	if got[2].TTL > 0 {
		d.State.BlockedUntil = form.Expiry(now, got[2].TTL)
	}
	if !got[0].Exists() {
		return d
	}
	level, at, period, ok := b.read(got, now)
	if !ok {
		d.Err = "holds no level and time of a leaky bucket: correct its rule"
		return d
	}
	d.Window, given.Window = period, period
	form.SetWater(&d, level, at, form.Emission(given))
	return d
}
