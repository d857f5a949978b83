package library

import (
	"encoding/binary"
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func bucket4j(s *decode.Sample, c decode.Context) *decode.Match {
	n := bandwidths(s.Text)
	if n == 0 {
		return nil
	}
	keys := form.Texts(s.Key)
	keys[0].Bytes = int64(64 + n*(bandwidthBytes+stateBytes+idBytes))
	r := &form.Reader{Keys: keys, Settings: decode.Settings{Algorithm: limiter.TokenBucket}, Holds: "state of Bucket4j", Read: bucket4jState}
	return r.MatchWhole(c, decode.Match{Why: []string{"a binary form of limits and their state", "as long as its number of limits makes it"}})
}

// Sizes in the binary form, without ids of limits.
const (
	bandwidthBytes = 47
	stateBytes     = 24
	idBytes        = 64 // at most, of an id that is read
	mostBandwidths = 16
)

// The parts of the binary form, in the order of its bytes.
type (
	headPart      struct{ Format, One, Count int32 }
	bandwidthPart struct {
		Version                           int32
		Capacity, Initial, Period, Refill int64 // Period in nanoseconds
		Intervally                        bool
		FirstRefill                       int64
		Partly, Named                     bool
	}
	statePart struct{ Last, Size, RoundingError int64 } // Last in nanoseconds
	tailPart  struct {
		Version  int32
		Consumed int64
	}
)

// bigEndian is what is left of a value in the order of bytes of the network.
type bigEndian []byte

// take reads the next part into the struct, or the number, that a pointer is to.
func (b *bigEndian) take(part any) bool {
	n, err := binary.Decode(*b, binary.BigEndian, part)
	*b = (*b)[n:]
	return err == nil
}

// head reads how many limits a value holds; ok is false where it is none.
func (b *bigEndian) head() (h headPart, ok bool) {
	ok = b.take(&h) && (h.Format == 1 || h.Format == 2) && h.One == 1 && h.Count >= 1 && h.Count <= mostBandwidths
	return h, ok
}

// bandwidths returns how many limits a value says that it holds, 0 where it is none.
func bandwidths(text string) int {
	rest := bigEndian(text)
	var first bandwidthPart
	if h, ok := rest.head(); ok && rest.take(&first) && first.Version == 1 && first.Capacity > 0 {
		return int(h.Count)
	}
	return 0
}

// bandwidth is one limit and its state.
type bandwidth struct {
	capacity, period, refill int64 // period in nanoseconds
	intervally               bool
	statePart
	sizeAt int // where size stands in the value
}

// readBucket4j reads all limits of a value; ok is false where it is none, or has more to it.
func readBucket4j(text string, now limiter.Instant) (limits []bandwidth, ok bool) {
	rest := bigEndian(text)
	h, ok := rest.head()
	if !ok {
		return nil, false
	}
	for range h.Count {
		var part bandwidthPart
		var length uint16
		if !rest.take(&part) || part.Named && (!rest.take(&length) || len(rest) < int(length)) {
			return nil, false
		}
		rest = rest[length:]
		b := bandwidth{capacity: part.Capacity, period: part.Period, refill: part.Refill, intervally: part.Intervally}
		limit := b.limit()
		if part.Version != 1 || b.refill <= 0 || limit.Validate() != nil {
			return nil, false
		}
		limits = append(limits, b)
	}
	if states := (headPart{}); !rest.take(&states) || states != (headPart{3, 1, 3 * h.Count}) {
		return nil, false
	}
	for i := range limits {
		b := &limits[i]
		b.sizeAt = len(text) - len(rest) + 8
		if !rest.take(&b.statePart) || decode.UnitOf(float64(b.Last), now) != time.Nanosecond || b.Size > limiter.MaxCount || b.Size < -limiter.MaxCount {
			return nil, false
		}
	}
	var tail tailPart
	var versioned bool
	var version int64 // of the configuration
	ok = rest.take(&tail) && tail.Version == 1 && tail.Consumed >= 0 && (h.Format == 1 || rest.take(&versioned) && (!versioned || rest.take(&version)))
	return limits, ok && len(rest) == 0
}

// limit returns the limit in the terms of the package limiter.
func (b *bandwidth) limit() limiter.Limit {
	return limiter.Limit{Count: b.refill, Burst: b.capacity, Window: time.Duration(b.period).Truncate(time.Microsecond)}
}

// bucket4jState reads the limit that admits last, and, where several admit, the one with least left.
func bucket4jState(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	limits, ok := readBucket4j(got[0].Text, now)
	best := math.Inf(-1)
	for i := range limits {
		one := limits[i].decoded()
		p := one.State.Peek(now, one.Limit, one.Convention, 1)
		if pressing := p.RetryAfter.Seconds()*1e3 - float64(p.Remaining)/limiter.MaxCount; pressing > best {
			best = pressing
			d.State, d.Settings = one.State, one.Settings
		}
	}
	if len(limits) > 1 {
		d.Notes = []model.Note{model.OneOfSeveral}
	}
	return ok
}

// decoded returns the state of one limit. The rest of a token that is coming back is kept in
// parts of the period.
func (b *bandwidth) decoded() (d decode.Decoded) {
	d.Algorithm, d.Limit, d.LimitFrom = limiter.TokenBucket, b.limit(), model.LimitOfKey
	d.Window = d.Limit.Window
	d.State.Algorithm = limiter.TokenBucket
	at := limiter.Instant(b.Last / 1000)
	if b.intervally {
		d.Convention.Refill = limiter.RefillInterval
		form.SetTokens(&d, float64(b.Size), at, float64(d.Window.Microseconds())/float64(b.refill))
		return d
	}
	step := form.Emission(d.Settings)
	rest := math.Max(math.Min(float64(b.RoundingError)/float64(b.period), 1), 0)
	form.SetTokens(&d, float64(b.Size)+rest, at, step)
	return d
}
