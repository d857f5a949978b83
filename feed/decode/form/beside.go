package form

import (
	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Beside is a limiter with keys beside it that say more.
type Beside struct {
	Of   decode.Limiter
	Keys func(now limiter.Instant) []decode.Fetch
	// Take puts what the keys beside the limiter's own hold into what these mean.
	Take func(d *decode.Decoded, now limiter.Instant, own, beside []decode.Sample, given decode.Settings)

	own int // how many keys of its own were fetched last
}

// Fetch reads the limiter's own keys, and those beside.
func (b *Beside) Fetch(now limiter.Instant) []decode.Fetch {
	own := b.Of.Fetch(now)
	b.own = len(own)
	return append(own[:b.own:b.own], b.Keys(now)...)
}

// Decode reads the limiter, and takes what the other keys say.
func (b *Beside) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := b.Of.Decode(now, got[:b.own], given)
	b.Take(&d, now, got[:b.own], got[b.own:], given)
	return d
}
