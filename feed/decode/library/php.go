package library

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"ratescope/feed/decode/form"
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
