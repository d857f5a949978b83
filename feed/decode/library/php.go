package library

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// phpObject is an object that PHP serialized, of which only what rate limiters hold is read: an
// array of a few strings and numbers, either of which may be the key or the value.
type phpObject struct {
	class  string
	values []phpValue // key, value, key, value, …
}

// phpValue is a string or a number.
type phpValue struct {
	text   string
	number float64
	kind   byte // 's', 'i' or 'd'
}

// phpValues is the most that an object of a rate limiter holds.
const phpValues = 8

// string reads a value as a string: PHP turns a string of digits into a number where it is a key.
func (v phpValue) string() string {
	if v.kind == 's' {
		return v.text
	}
	return strconv.FormatFloat(v.number, 'f', -1, 64)
}

// readPHP reads what igbinary_serialize() wrote, or serialize(): O:<length>:"<class>":<pairs>:{<key><value>…}.
func readPHP(text string) (o phpObject, ok bool) {
	if !strings.HasPrefix(text, "O:") {
		return readIgbinary(text)
	}
	o.class, text, ok = quoted(text[len("O:"):])
	if !ok || !strings.HasPrefix(text, ":") {
		return o, false
	}
	digits, text, ok := strings.Cut(text[1:], ":{")
	pairs, err := strconv.Atoi(digits)
	if !ok || err != nil || pairs < 1 || 2*pairs > phpValues {
		return o, false
	}
	o.values, text, ok = phpPairs(pairs, text, serializedValue)
	return o, ok && text == "}"
}

// phpPairs reads so many keys with their values by the function that reads one of either.
func phpPairs(n int, text string, read func(string) (phpValue, string, bool)) (values []phpValue, rest string, ok bool) {
	for range 2 * n {
		var v phpValue
		if v, text, ok = read(text); !ok {
			return nil, "", false
		}
		values = append(values, v)
	}
	return values, text, true
}

// serializedValue reads s:<length>:"<bytes>"; or i:<number>; or d:<number>;.
func serializedValue(text string) (v phpValue, rest string, ok bool) {
	if len(text) < 2 || text[1] != ':' {
		return v, "", false
	}
	v.kind = text[0]
	switch text = text[2:]; v.kind {
	case 's':
		var complete bool
		v.text, rest, complete = quoted(text)
		rest, ended := strings.CutPrefix(rest, ";")
		return v, rest, complete && ended
	case 'i', 'd':
		digits, rest, ok := strings.Cut(text, ";")
		if !ok {
			return v, "", false
		}
		v.number, ok = form.Number(digits)
		return v, rest, ok
	}
	return v, "", false
}

// quoted reads <length>:"<bytes>".
func quoted(text string) (s, rest string, ok bool) {
	digits, rest, ok := strings.Cut(text, `:"`)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= len(rest) || rest[n] != '"' {
		return "", "", false
	}
	return rest[:n], rest[n+1:], true
}

// The types of igbinary that an object of a rate limiter holds; the others are not read.
const (
	igArray8   = 0x14 // an array of less than 256 pairs
	igObject8  = 0x17 // an object whose class has less than 256 bytes
	igString8  = 0x11
	igString16 = 0x12
	igInt8     = 0x06
	igInt16    = 0x08
	igInt32    = 0x0a
	igNegative = 1 // added to one of the three
	igDouble   = 0x0c
)

// readIgbinary reads version 2 of igbinary's format.
func readIgbinary(text string) (o phpObject, ok bool) {
	text, ok = strings.CutPrefix(text, "\x00\x00\x00\x02")
	if !ok || len(text) < 2 || text[0] != igObject8 || len(text) < 4+int(text[1]) {
		return o, false
	}
	n := int(text[1])
	o.class, text = text[2:2+n], text[2+n:]
	pairs := int(text[1])
	if text[0] != igArray8 || pairs < 1 || 2*pairs > phpValues {
		return o, false
	}
	o.values, text, ok = phpPairs(pairs, text[2:], igbinaryValue)
	return o, ok && text == ""
}

func igbinaryValue(text string) (v phpValue, rest string, ok bool) {
	take := func(n int) (b []byte) {
		if len(text) < n {
			return nil
		}
		b, text = []byte(text[:n]), text[n:]
		return b
	}
	head := take(1)
	if head == nil {
		return v, "", false
	}
	size := map[byte]int{igString8: 1, igString16: 2, igInt8: 1, igInt16: 2, igInt32: 4, igInt8 + igNegative: 1, igInt16 + igNegative: 2,
		igInt32 + igNegative: 4, igDouble: 8}[head[0]]
	b := take(size)
	if size == 0 || b == nil {
		return v, "", false
	}
	var n uint64
	for _, d := range b {
		n = n<<8 | uint64(d)
	}
	switch head[0] {
	case igString8, igString16:
		s := take(int(n))
		return phpValue{text: string(s), kind: 's'}, text, len(s) == int(n)
	case igDouble:
		v = phpValue{number: math.Float64frombits(n), kind: 'd'}
		return v, text, !math.IsNaN(v.number) && !math.IsInf(v.number, 0)
	case igInt8 + igNegative, igInt16 + igNegative, igInt32 + igNegative:
		return phpValue{number: -float64(n), kind: 'i'}, text, true
	}
	return phpValue{number: float64(n), kind: 'i'}, text, true
}

// phpInts takes n whole numbers of 32 bits, as pack("N") writes them, off the front of a string.
func phpInts(text string, n int) (ints []uint32, rest string, ok bool) {
	ints = make([]uint32, n)
	size, err := binary.Decode([]byte(text), binary.BigEndian, ints)
	return ints, text[size:], err == nil
}

func symfony(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasPrefix(s.Text, "O:") && !strings.HasPrefix(s.Text, "\x00\x00\x00\x02") || !strings.Contains(s.Text, symfonyClass) {
		return nil
	}
	keys := form.Texts(s.Key)
	keys[0].Bytes = symfonyBytes
	r := &form.Reader{Keys: keys, Holds: "serialized state of Symfony's rate limiter",
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			p, ok := readSymfony(got[0].Text)
			digest := sha1.Sum([]byte(p.id))
			d.Settings, d.State = p.Settings, p.state
			d.PreviousKnown = p.Algorithm == limiter.SlidingWindow
			return ok && got[0].TTL > 0 && strings.HasSuffix(s.Key, hex.EncodeToString(digest[:]))
		}}
	m := r.MatchWhole(c, decode.Match{Why: []string{"a serialized state of Symfony's rate limiter", "the SHA-1 of its id ends the name"}})
	if i := len(s.Key) - 2*sha1.Size; i > 0 {
		m.Prefix = s.Key[:i]
	}
	if o, _, ok := quoted(strings.TrimPrefix(s.Text, "O:")); ok {
		m.Algorithm = symfonyPolicies[strings.TrimPrefix(o, symfonyClass)]
	}
	for class, a := range symfonyPolicies {
		if strings.Contains(s.Text, symfonyClass+class+"\x14") {
			m.Algorithm = a
		}
	}
	return m
}

const symfonyClass = `Symfony\Component\RateLimiter\Policy\`

var symfonyPolicies = map[string]limiter.Algorithm{
	"Window": limiter.FixedWindow, "SlidingWindow": limiter.SlidingWindow, "TokenBucket": limiter.TokenBucket,
}

// symfonyState is what one of the objects holds.
type symfonyState struct {
	decode.Settings
	state limiter.State
	id    string // of the limiter, a dash, and the key that it limits
}

// readSymfony reads one of the three classes.
func readSymfony(text string) (p symfonyState, ok bool) {
	o, ok := readPHP(text)
	class, known := strings.CutPrefix(o.class, symfonyClass)
	if !ok || !known {
		return p, false
	}
	switch class {
	case "Window":
		ok = p.window(o.values)
	case "SlidingWindow":
		ok = p.sliding(o.values)
	case "TokenBucket":
		ok = p.bucket(o.values)
	default:
		return p, false
	}
	p.Algorithm = symfonyPolicies[class]
	return p, ok && p.Window >= time.Second && p.Window <= limiter.MaxWindow
}

// window reads id => start, hits and interval => limit.
func (s *symfonyState) window(v []phpValue) bool {
	if len(v) != 4 || v[1].kind != 'd' || v[3].kind != 'i' {
		return false
	}
	ints, _, ok := phpInts(v[2].string(), 2)
	if !ok {
		return false
	}
	s.id = v[0].string()
	s.Window = time.Duration(ints[1]) * time.Second
	s.Limit.Count, s.LimitFrom = int64(v[3].number), model.LimitOfKey
	s.Convention.Alignment = convention.FirstRequest
	s.state.Start, s.state.Current = decode.InstantIn(v[1].number, time.Second), int64(ints[0])
	return s.Limit.Count > 0 && decode.UnitOf(v[1].number, s.state.Start) == time.Second
}

// sliding reads hits, hits of the window before, interval and id => end of the window.
func (s *symfonyState) sliding(v []phpValue) bool {
	if len(v) != 2 || v[1].kind != 'd' {
		return false
	}
	ints, id, ok := phpInts(v[0].string(), 3)
	if !ok {
		return false
	}
	s.id = id
	s.Window = time.Duration(ints[2]) * time.Second
	s.Convention.Alignment = convention.FirstRequest
	end := decode.InstantIn(v[1].number, time.Second)
	s.state.Start, s.state.PreviousStart = end.Add(-s.Window), end.Add(-2*s.Window)
	s.state.Current, s.state.Previous = int64(ints[0]), int64(ints[1])
	return decode.UnitOf(v[1].number, end) == time.Second
}

// bucket reads size and id => tokens, rate => instant of the last batch.
func (s *symfonyState) bucket(v []phpValue) bool {
	if len(v) != 4 || v[1].kind != 'i' || v[3].kind != 'd' {
		return false
	}
	ints, id, ok := phpInts(v[0].string(), 1)
	interval, amount, good := symfonyRate(v[2].string())
	if !ok || !good || ints[0] == 0 {
		return false
	}
	s.id = id
	s.Window = interval
	s.Limit = limiter.Limit{Count: amount, Window: interval, Burst: int64(ints[0])}
	s.LimitFrom = model.LimitOfKey
	s.Convention.Refill = convention.Interval
	s.state.Filled = decode.InstantIn(v[3].number, time.Second)
	s.state.Level = v[1].number
	if v[1].number < 0 { // reserved beyond what was there: it is level in some batches
		batches := math.Ceil(-v[1].number / float64(amount))
		s.state.Level += batches * float64(amount)
		s.state.Filled += form.Span(batches * float64(interval.Microseconds()))
	}
	return decode.UnitOf(v[3].number, s.state.Filled) == time.Second
}

// symfonySpec is an interval as PHP writes one, and how many tokens come with each.
var symfonySpec = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?-(\d+)$`)

// symfonyRate reads P<years>Y<months>M<days>DT<hours>H<minutes>M<seconds>S-<tokens>, the interval
// between batches and their size.
func symfonyRate(text string) (interval time.Duration, tokens int64, ok bool) {
	found := symfonySpec.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, false
	}
	for i, unit := range [...]time.Duration{365 * day, 30 * day, day, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.ParseInt("0"+found[i+1], 10, 64)
		if n > int64(limiter.MaxWindow/unit) {
			return 0, 0, false
		}
		interval += time.Duration(n) * unit
	}
	tokens, err := strconv.ParseInt(found[7], 10, 32)
	return interval, tokens, err == nil && tokens > 0 && interval > 0
}

// symfonyBytes is more than a state has whose id is of a reasonable length.
const symfonyBytes = 4 << 10
