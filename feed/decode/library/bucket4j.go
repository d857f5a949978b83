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

// bucket4j is Bucket4j with Redis: a string under a key of the program that holds everything, in
// a binary form of its own: the version of the format, the limits, the state of each, and how many
// tokens were consumed in all. The number of limits fixes its length, which is strong evidence.
// Several limits of one key are one row, which shows the limit that admits last.
var bucket4j = &decode.Library{
	Name: "bucket4j", Version: "8.19.0", Published: true, Types: []string{"string"},
	Silent: []string{"denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		n := bandwidths(s.Text)
		if n == 0 {
			return nil
		}
		b := &bucket4jState{key: s.Key, bytes: int64(64 + n*(bandwidthBytes+stateBytes+idBytes))}
		return &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.TokenBucket},
			Why:      []string{"a binary form of limits and their state", "as long as its number of limits makes it"},
			Limiter:  b, Siblings: b.Fetch(c.Now),
			Confirm: func(got []decode.Sample) bool {
				_, ok := readBucket4j(got[0].Text, c.Now)
				return ok
			},
		}
	},
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

type bucket4jState struct {
	key   string
	bytes int64
}

// Fetch reads the string.
func (b *bucket4jState) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.key, Type: "string", Bytes: b.bytes}}
}

// Decode returns the limit that admits last, and, where several admit, the one with least left.
func (b *bucket4jState) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm = limiter.TokenBucket
	if !s.Exists() {
		return d
	}
	limits, ok := readBucket4j(s.Text, now)
	if !ok {
		d.Err = "holds no state of Bucket4j: correct its rule, or remove the key"
		return d
	}
	best := math.Inf(-1)
	for i := range limits {
		one := limits[i].decoded(now)
		p := one.State.Peek(now, one.Limit, one.Convention, 1)
		if pressing := p.RetryAfter.Seconds()*1e3 - float64(p.Remaining)/limiter.MaxCount; pressing > best {
			best = pressing
			d.State, d.Settings = one.State, one.Settings
		}
	}
	if len(limits) > 1 {
		d.Notes = []model.Note{model.OneOfSeveral}
	}
	return d
}

// decoded returns the state of one limit. The rest of a token that is coming back is kept in
// parts of the period.
func (b *bandwidth) decoded(limiter.Instant) (d decode.Decoded) {
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
