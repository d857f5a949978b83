package metrics

import (
	"maps"

	"ratescope/limiter"
	"ratescope/model"
)

// counted is how many units of a key were admitted and denied since the exporter began, as its readings told.
type counted struct {
	admitted, denied int64
	through          limiter.Instant // of the latest reading
}

// mostCounted bounds the keys that left and whose counts are kept, so that they do not fall when the key
// comes back.
const mostCounted = 100_000

// count adds up what a batch tells of, before the board takes it in.
func (c *Collector) count(b *model.Batch) {
	if c.since == 0 && b.Server.Link == model.Live {
		c.since = b.At
	}
	for i := range b.Readings {
		r := &b.Readings[i]
		n := c.counts[r.Key]
		if n == nil {
			if len(c.counts) >= mostCounted {
				maps.DeleteFunc(c.counts, func(name string, _ *counted) bool { return c.board.Key(name) == nil })
			}
			n = &counted{}
			c.counts[r.Key] = n
		}
		from := c.since - 1
		if k := c.board.Key(r.Key); k == nil || r.Repeats(&k.Reading) {
			from = max(from, n.through)
		}
		for _, a := range r.Arrivals {
			switch {
			case a.At <= from || a.N <= 0:
			case a.Denied:
				n.denied += a.N
			default:
				n.admitted += a.N
			}
		}
		n.through = r.At
	}
}
