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

// bandwidths returns how many limits a value says that it holds, 0 where it is none.
func bandwidths(text string) int {
	if len(text) < 12+bandwidthBytes || text[0] != 0 || text[1] != 0 || text[2] != 0 || text[3] != 1 && text[3] != 2 {
		return 0
	}
	r := reader{text: text}
	r.int32()
	second, n := r.int32(), r.int32()
	if second != 1 || n < 1 || n > mostBandwidths {
		return 0
	}
	if r.int32() != 1 || r.int64() <= 0 { // the first limit and its capacity
		return 0
	}
	return int(n)
}

// bandwidth is one limit and its state.
type bandwidth struct {
	capacity, period, refill  int64 // period in nanoseconds
	intervally                bool
	last, size, roundingError int64 // last in nanoseconds
	sizeAt                    int   // where size stands in the value
}

// readBucket4j reads all limits of a value; ok is false where it is none, or has more to it.
func readBucket4j(text string, now limiter.Instant) (limits []bandwidth, ok bool) {
	r := reader{text: text}
	format := r.int32()
	one, n := r.int32(), r.int32()
	if format != 1 && format != 2 || one != 1 || n < 1 || n > mostBandwidths {
		return nil, false
	}
	limits = make([]bandwidth, n)
	for i := range limits {
		b := &limits[i]
		version := r.int32()
		b.capacity = r.int64()
		r.int64() // what it began with
		b.period, b.refill, b.intervally = r.int64(), r.int64(), r.byte() == 1
		r.int64() // when it is filled first
		r.byte()  // whether it began with a part of its capacity
		if r.byte() == 1 {
			r.skip(r.int16())
		}
		limit := b.limit()
		if version != 1 || b.refill <= 0 || limit.Validate() != nil {
			return nil, false
		}
	}
	if state, one, longs := r.int32(), r.int32(), r.int32(); state != 3 || one != 1 || longs != 3*n {
		return nil, false
	}
	for i := range limits {
		b := &limits[i]
		b.last, b.sizeAt = r.int64(), len(text)-len(r.text)
		b.size, b.roundingError = r.int64(), r.int64()
		if decode.UnitOf(float64(b.last), now) != time.Nanosecond || b.size > limiter.MaxCount || b.size < -limiter.MaxCount {
			return nil, false
		}
	}
	version, consumed := r.int32(), r.int64()
	if format == 2 && r.byte() == 1 {
		r.int64() // the version of the configuration
	}
	return limits, version == 1 && consumed >= 0 && !r.short && r.text == ""
}

// limit returns the limit in the terms of the package limiter.
func (b *bandwidth) limit() limiter.Limit {
	return limiter.Limit{Count: b.refill, Burst: b.capacity, Window: time.Duration(b.period).Truncate(time.Microsecond)}
}

// reader reads big-endian numbers off the front of a text.
type reader struct {
	text  string
	short bool // the text ended before what was read
}

func (r *reader) skip(n int) string {
	if n < 0 || len(r.text) < n {
		r.text, r.short = "", true
		return "\x00\x00\x00\x00\x00\x00\x00\x00"[:min(max(n, 0), 8)]
	}
	taken := r.text[:n]
	r.text = r.text[n:]
	return taken
}

func (r *reader) byte() byte   { return r.skip(1)[0] }
func (r *reader) int16() int   { return int(binary.BigEndian.Uint16([]byte(r.skip(2)))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32([]byte(r.skip(4)))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64([]byte(r.skip(8)))) }

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
	at := limiter.Instant(b.last / 1000)
	if b.intervally {
		d.Convention.Refill = limiter.RefillInterval
		form.SetTokens(&d, float64(b.size), at, float64(d.Window.Microseconds())/float64(b.refill))
		return d
	}
	step := form.Emission(d.Settings)
	rest := math.Max(math.Min(float64(b.roundingError)/float64(b.period), 1), 0)
	form.SetTokens(&d, float64(b.size)+rest, at, step)
	return d
}
