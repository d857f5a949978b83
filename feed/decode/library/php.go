package library

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/collect"
)

// phpObject is an object that PHP serialized, of which only what rate limiters hold is read: an
// array of a few strings, int64 and float64, either of which may be the key or the value.
type phpObject struct {
	class  string
	values []any // key, value, key, value, …
}

// phpValues is the most that an object of a rate limiter holds.
const phpValues = 8

// readPHP reads what igbinary_serialize() wrote in version 2 of its format, or serialize():
// O:<length>:"<class>":<pairs>:{<key><value>…}.
func readPHP(text string) (o phpObject, ok bool) {
	p := &phpText{rest: text}
	pairs, value, end := 0, p.igbinary, ""
	if rest, serialized := strings.CutPrefix(text, "O:"); serialized {
		p.rest = rest
		o.class = p.take(p.number(`:"`))
		p.is(`":`)
		pairs, value, end = p.number(":{"), p.serialized, "}"
	} else {
		p.is("\x00\x00\x00\x02\x17") // an object whose class has less than 256 bytes
		o.class = p.take(int(p.bytes(1)))
		p.is("\x14") // an array of less than 256 pairs
		pairs = int(p.bytes(1))
	}
	p.bad = p.bad || pairs < 1 || 2*pairs > phpValues
	for n := 0; n < 2*pairs && !p.bad; n++ {
		o.values = append(o.values, value())
	}
	return o, !p.bad && p.rest == end
}

// phpText is what is left of a text; bad is set where it is not in its format.
type phpText struct {
	rest string
	bad  bool
}

// take returns the next n bytes, "" where there are less.
func (p *phpText) take(n int) (text string) {
	if p.bad = p.bad || n > len(p.rest); p.bad {
		return ""
	}
	text, p.rest = p.rest[:n], p.rest[n:]
	return text
}

func (p *phpText) is(text string) { p.bad = p.take(len(text)) != text || p.bad }

// until returns what stands before a separator, and takes both.
func (p *phpText) until(separator string) string {
	text, rest, ok := strings.Cut(p.rest, separator)
	p.rest, p.bad = rest, p.bad || !ok
	return text
}

func (p *phpText) number(separator string) int {
	n, ok := form.Count(p.until(separator))
	p.bad = p.bad || !ok
	return int(n)
}

// bytes returns the whole number in the next n bytes.
func (p *phpText) bytes(n int) (v uint64) {
	for _, b := range []byte(p.take(n)) {
		v = v<<8 | uint64(b)
	}
	return v
}

// serialized reads s:<length>:"<bytes>"; or i:<number>; or d:<number>;.
func (p *phpText) serialized() any {
	kind := p.until(":")
	if kind == "s" {
		text := p.take(p.number(`:"`))
		p.is(`";`)
		return text
	}
	number, ok := form.Number(p.until(";"))
	p.bad = p.bad || !ok || kind != "i" && kind != "d"
	if kind == "i" {
		return int64(number)
	}
	return number
}

// igbinarySizes are the types of igbinary that an object of a rate limiter holds, with how many bytes a number has, or the length of
// a string: whole numbers, below zero where the type is odd, a double, and strings. The others are not read.
var igbinarySizes = map[uint64]int{0x06: 1, 0x07: 1, 0x08: 2, 0x09: 2, 0x0a: 4, 0x0b: 4, 0x0c: 8, 0x11: 1, 0x12: 2}

func (p *phpText) igbinary() any {
	kind := p.bytes(1)
	size := igbinarySizes[kind]
	n := p.bytes(size)
	p.bad = p.bad || size == 0
	switch {
	case kind > 0x0c:
		return p.take(int(n))
	case kind == 0x0c:
		f := math.Float64frombits(n)
		p.bad = p.bad || math.IsNaN(f) || math.IsInf(f, 0)
		return f
	case kind%2 == 1:
		return -int64(n)
	}
	return int64(n)
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
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			id, ok := readSymfony(d, got[0].Text, now)
			digest := sha1.Sum([]byte(id))
			return ok && got[0].TTL > 0 && strings.HasSuffix(s.Key, hex.EncodeToString(digest[:]))
		}}
	m := r.MatchWhole(c, decode.Match{Why: []string{"a serialized state of Symfony's rate limiter", "the SHA-1 of its id ends the name"}})
	if i := len(s.Key) - 2*sha1.Size; i > 0 {
		m.Prefix = s.Key[:i]
	}
	for class, a := range symfonyPolicies {
		if strings.Contains(s.Text, symfonyClass+class+`"`) || strings.Contains(s.Text, symfonyClass+class+"\x14") {
			m.Algorithm = a
		}
	}
	return m
}

const symfonyClass = `Symfony\Component\RateLimiter\Policy\`

var symfonyPolicies = map[string]limiter.Algorithm{
	"Window": limiter.FixedWindow, "SlidingWindow": limiter.SlidingWindow, "TokenBucket": limiter.TokenBucket,
}

// readSymfony puts what one of the three classes holds into d, and returns the id of the limiter: its name, a dash, and the key that
// it limits. PHP turns a string of digits into a number where it is a key.
func readSymfony(d *decode.Decoded, text string, now limiter.Instant) (id string, ok bool) {
	o, ok := readPHP(text)
	v, class := o.values, strings.TrimPrefix(o.class, symfonyClass)
	if size := map[string]int{"Window": 4, "SlidingWindow": 2, "TokenBucket": 4}[class]; !ok || size == 0 || len(v) != size {
		return "", false
	}
	check := func(is bool) { ok = ok && is }
	ints := func(at, n int) []uint32 {
		ints, rest, is := phpInts(fmt.Sprint(v[at]), n)
		id = rest
		check(is)
		return ints
	}
	count := func(at int) int64 {
		n, is := v[at].(int64)
		check(is)
		return n
	}
	second := func(at int) limiter.Instant {
		n, is := v[at].(float64)
		check(is && n > 0 && n < 1e11)
		return decode.InstantIn(n, time.Second)
	}
	d.Settings = decode.Settings{Algorithm: symfonyPolicies[class]}
	d.Convention.Alignment = convention.FirstRequest
	switch class {
	case "Window": // id => start, hits and interval => limit
		n := ints(2, 2)
		id = fmt.Sprint(v[0])
		d.Window = time.Duration(n[1]) * time.Second
		d.Limit.Count, d.LimitFrom = count(3), model.LimitOfKey
		check(d.Limit.Count > 0)
		d.State.Start, d.State.Current = second(1), int64(n[0])
	case "SlidingWindow": // hits, hits of the window before, interval and id => end of the window
		n, end := ints(0, 3), second(1)
		d.Window = time.Duration(n[2]) * time.Second
		d.State.Start, d.State.PreviousStart = end.Add(-d.Window), end.Add(-2*d.Window)
		d.State.Current, d.State.Previous, d.PreviousKnown = int64(n[0]), int64(n[1]), true
	default: // size and id => tokens, rate => instant of the last batch
		n, tokens := ints(0, 1), float64(count(1))
		interval, amount, is := symfonyRate(fmt.Sprint(v[2]))
		check(is && n[0] > 0)
		d.Window = interval
		d.Limit, d.LimitFrom = limiter.Limit{Count: amount, Window: interval, Burst: int64(n[0])}, model.LimitOfKey
		form.SetBatches(d, d.Settings, tokens, second(3), now)
	}
	return id, ok && d.Window >= time.Second && d.Window <= limiter.MaxWindow
}

// symfonySpec is an interval as PHP writes one, and how many tokens come with each.
var symfonySpec = collect.Regexp(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?-(\d+)$`)

// symfonyRate reads P<years>Y<months>M<days>DT<hours>H<minutes>M<seconds>S-<tokens>, the interval
// between batches and their size.
func symfonyRate(text string) (interval time.Duration, tokens int64, ok bool) {
	found := symfonySpec().FindStringSubmatch(text)
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
