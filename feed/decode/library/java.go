package library

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

func bucket4j(s *decode.Sample, c decode.Context) *decode.Match {
	rest := bigEndian(s.Text)
	var first bandwidthPart
	h, ok := rest.head()
	if !ok || !rest.take(&first) || first.Version != 1 || first.Capacity <= 0 {
		return nil
	}
	keys := form.Texts(s.Key)
	keys[0].Bytes = int64(64 + h.Count*(bandwidthBytes+stateBytes+idBytes))
	r := &form.Reader{Keys: keys, Settings: decode.Settings{Algorithm: limiter.TokenBucket}, Holds: "state of Bucket4j",
		Read: bucket4jState}
	return r.MatchWhole(c, decode.Match{
		Why: []string{"a binary form of limits and their state", "as long as its number of limits makes it"}})
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

// bandwidth is one limit and its state.
type bandwidth struct {
	bandwidthPart
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
		var b bandwidth
		var length uint16
		if !rest.take(&b.bandwidthPart) || b.Named && (!rest.take(&length) || len(rest) < int(length)) {
			return nil, false
		}
		rest = rest[length:]
		if limit := b.limit(); b.Version != 1 || b.Refill <= 0 || limit.Validate() != nil {
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
		if !rest.take(&b.statePart) || decode.UnitOf(float64(b.Last), now) != time.Nanosecond ||
			b.Size > limiter.MaxCount || b.Size < -limiter.MaxCount {
			return nil, false
		}
	}
	var tail tailPart
	var versioned bool
	var version int64 // of the configuration
	ok = rest.take(&tail) && tail.Version == 1 && tail.Consumed >= 0 &&
		(h.Format == 1 || rest.take(&versioned) && (!versioned || rest.take(&version)))
	return limits, ok && len(rest) == 0
}

// limit returns the limit in the terms of the package limiter.
func (b *bandwidth) limit() limiter.Limit {
	return limiter.Limit{Count: b.Refill, Burst: b.Capacity, Window: time.Duration(b.Period).Truncate(time.Microsecond)}
}

// bucket4jState reads the limit that admits last, and, where several admit, the one with least left.
func bucket4jState(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	limits, ok := readBucket4j(got[0].Text, now)
	var best [3]int64
	for i := range limits {
		one := limits[i].decoded(now)
		if s := form.Strictness(&one, now); i == 0 || slices.Compare(s[:], best[:]) > 0 {
			best, d.State, d.Settings = s, one.State, one.Settings
		}
	}
	if len(limits) > 1 {
		d.Notes = []model.Note{model.OneOfSeveral}
	}
	return ok
}

// decoded returns the state of one limit. The rest of a token that is coming back is kept in
// parts of the period.
func (b *bandwidth) decoded(now limiter.Instant) (d decode.Decoded) {
	d.Algorithm, d.Limit, d.LimitFrom = limiter.TokenBucket, b.limit(), model.LimitOfKey
	d.Window = d.Limit.Window
	d.State.Algorithm = limiter.TokenBucket
	at := limiter.Instant(b.Last / 1000)
	if b.Intervally {
		form.SetBatches(&d, d.Settings, float64(b.Size), at, now)
		return d
	}
	step := form.Emission(d.Settings)
	rest := math.Max(math.Min(float64(b.RoundingError)/float64(b.Period), 1), 0)
	form.SetTokens(&d, float64(b.Size)+rest, at, step)
	return d
}

// errSeveralLimits is the error of a bucket with several limits.
var errSeveralLimits = errors.New("the bucket has several limits, of which ratescope changes none: call replaceConfiguration in its " +
	"application")

// RaiseBucket4j returns the value of a bucket whose limit is raised by so many units, and that limit
// before; below 0 it is lowered. It does what replaceConfiguration with TokensInheritanceStrategy.ADDITIVE
// does: what has come back until now comes at the rate until now, then the bucket gets as many tokens more. What
// else the value holds stays byte by byte. Where the whole capacity comes back in a period, so
// does what is added.
func RaiseBucket4j(text string, units int64, now limiter.Instant) (raised string, was limiter.Limit, err error) {
	limits, ok := readBucket4j(text, now)
	switch {
	case !ok:
		return "", was, errors.New("the key holds no state of Bucket4j: look at it with ratescope peek")
	case len(limits) > 1:
		return "", was, errSeveralLimits
	}
	one := limits[0]
	was = one.limit()
	one.refillTo(int64(now) * 1000)
	b := []byte(text)
	put := func(at int, n int64) { binary.BigEndian.PutUint64(b[at:], uint64(n)) }
	if one.Refill == one.Capacity {
		put(model.Bucket4jRefill, one.Refill+units)
	}
	put(model.Bucket4jCapacity, one.Capacity+units)
	put(one.sizeAt-8, one.Last)
	put(one.sizeAt, one.Size+units)
	put(one.sizeAt+8, one.RoundingError)
	return string(b), was, nil
}

// refillTo adds the tokens that have come back until an instant in nanoseconds, as Bucket4j does: the
// rest of a token is kept in parts of the period.
func (b *bandwidth) refillTo(now int64) {
	elapsed := now - b.Last
	if b.Intervally && elapsed > 0 {
		elapsed -= elapsed % b.Period
	}
	if elapsed <= 0 {
		return
	}
	parts := new(big.Int).Mul(big.NewInt(elapsed), big.NewInt(b.Refill))
	parts.Add(parts, big.NewInt(b.RoundingError))
	tokens, rest := parts.QuoRem(parts, big.NewInt(b.Period), new(big.Int))
	tokens.Add(tokens, big.NewInt(b.Size))
	b.Last += elapsed
	if tokens.Cmp(big.NewInt(b.Capacity)) >= 0 {
		b.Size, b.RoundingError = b.Capacity, 0
		return
	}
	b.Size, b.RoundingError = tokens.Int64(), rest.Int64()
}

// redissonName is one beside the hash of a limiter, where each client has its own with the UUID that it calls itself by.
var redissonName = collect.Regexp(`(?s)^\{(.+?)\}:(value|permits)(?::([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?$`)

func redisson(s *decode.Sample, c decode.Context) *decode.Match {
	if s.Type == "hash" {
		if _, overall, ok := readRedisson(s); !ok || !overall {
			return nil
		}
		return matchRedisson(s.Key, "", "a hash of rate, interval and type")
	}
	n := redissonName().FindStringSubmatch(s.Key)
	if _, isCount := form.Count(s.Text); n == nil || (n[2] == "value") != (s.Type == "string") || s.Type == "string" && !isCount {
		return nil
	}
	m := matchRedisson(n[1], n[3], "named {<name>}:value", "beside it a hash of rate, interval and type")
	m.Siblings = m.Limiter.Fetch(c.Now)[:1]
	m.Confirm = func(got []decode.Sample) bool {
		_, overall, ok := readRedisson(&got[0])
		return ok && overall == (n[3] == "")
	}
	return m
}

func matchRedisson(name, client string, why ...string) *decode.Match {
	base, after := "{"+name+"}:", ""
	m := &decode.Match{Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Name: name, Why: why}
	if client != "" {
		after = ":" + client
		m.Name = base + "value" + after
	}
	keys := append(form.Hash(name, "rate", "interval", "type"), form.Texts(base+"value"+after)...)
	m.Limiter = &form.Reader{
		Keys:     append(keys, decode.Fetch{Key: base + "permits" + after, Type: "zset", Ends: form.FewPermits}),
		Settings: m.Settings, Holds: "limiter of Redisson", Read: redissonPermits,
	}
	return m
}

// readRedisson returns the limit in a hash; overall is false where each client has its own.
func readRedisson(s *decode.Sample) (limit limiter.Limit, overall, ok bool) {
	rate, okRate := form.Count(s.Fields["rate"])
	ms, okInterval := form.Count(s.Fields["interval"])
	kind := s.Fields["type"]
	if !okRate || !okInterval || rate == 0 || ms > limiter.MaxWindow.Milliseconds() || kind != "0" && kind != "1" || s.Length < 3 ||
		s.Length > 4 {
		return limit, false, false
	}
	limit = limiter.Limit{Count: rate, Window: form.Milliseconds(ms)}
	return limit, kind == "0", limit.Validate() == nil
}

// redissonPermits reads the permits that are out as a log. Where more of them have expired than were
// read, what is used is not known.
func redissonPermits(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	limit, _, ok := readRedisson(&got[0])
	left, isCount := form.Signed(got[1].Text)
	if !ok || got[1].Exists() && !isCount {
		return false
	}
	d.Limit, d.LimitFrom, d.Window = limit, model.LimitOfKey, limit.Window
	if !got[1].Exists() {
		return true
	}
	p := form.Permits{Left: max(limit.Count-max(left, 0), 0)}
	live := got[2].First
	for len(live) > 0 && decode.InstantIn(live[0].Score, time.Millisecond) <= now.Add(-limit.Window) {
		p.Left -= permitsOf(live[0].Member)
		live = live[1:]
	}
	d.ReadWhole(len(live) > 0 && p.Left >= 0 || got[2].Length <= int64(len(got[2].First)))
	if p.Left < 0 { // more came back than was missing: what is out is counted anew
		p.Left = collect.Sum(live, func(e decode.Element) int64 { return permitsOf(e.Member) })
	}
	for _, e := range live {
		if decode.UnitOf(e.Score, now) == time.Millisecond {
			p.Add(decode.InstantIn(e.Score, time.Millisecond), permitsOf(e.Member))
		}
	}
	d.State.Log = p.Log(now)
	return true
}

// permitsOf returns how many permits a member stands for: the length of an id, the id, and a
// number in the order of bytes of the x86.
func permitsOf(member string) int64 {
	if len(member) < 5 || len(member) != 1+int(member[0])+4 {
		return 0
	}
	return int64(binary.LittleEndian.Uint32([]byte(member[len(member)-4:])))
}
