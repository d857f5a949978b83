package form

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Source says where a value stands.
type Source struct {
	Kind string // "value", "field", "json", "key"; what else a word of a layout allows
	Name string // of the field, or the path of one in JSON: "a.b"
	Key  Template
	Unit time.Duration // of a time; 0: that of the layout
}

// wholeString is how much of a string is read that holds JSON.
const wholeString = 64 << 10

// text returns what stands there: in the samples of the leading key and of Key.
func (s *Source) text(lead, beside *decode.Sample) (text string, ok bool) {
	switch s.Kind {
	case "key":
		return beside.Text, beside.Exists()
	case "json":
		value, found := jsonAt(lead.Text, s.Name)
		return plain(value), found
	case "field":
		if lead.Type == "string" {
			value, found := jsonAt(lead.Text, s.Name)
			return plain(value), found
		}
		text, ok = lead.Fields[s.Name]
		return text, ok
	}
	return lead.Text, lead.Exists()
}

func (s *Source) number(lead, beside *decode.Sample) (float64, bool) {
	text, ok := s.text(lead, beside)
	text = strings.TrimSpace(text)
	rest, minus := strings.CutPrefix(text, "-")
	n, number := Number(rest)
	if minus {
		n = -n
	}
	return n, ok && number
}

// Number returns the number that stands in a key itself; ok is false where that is none, or in another key.
func (s *Source) Number(lead *decode.Sample) (n float64, ok bool) {
	if s.Kind == "key" {
		return 0, false
	}
	return s.number(lead, nil)
}

func (s *Source) instant(lead, beside *decode.Sample, unit time.Duration, now limiter.Instant) (limiter.Instant, bool) {
	n, ok := s.number(lead, beside)
	if text, held := s.text(lead, beside); held && !ok {
		if at, is := decode.TimeText(text); is {
			return at, true
		}
	}
	if s.Unit != 0 {
		unit = s.Unit
	}
	at, known := instantIn(n, unit, now)
	return at, ok && known
}

// instantIn returns a time in a unit; with unit 0 in the one that makes it a time of these years.
func instantIn(n float64, unit time.Duration, now limiter.Instant) (limiter.Instant, bool) {
	if unit == 0 {
		unit = decode.UnitOf(n, now)
	}
	if unit == 0 || n < 0 || n > 1e19 || n*float64(unit)/float64(time.Microsecond) > 1<<53 {
		return 0, false
	}
	return decode.InstantIn(n, unit), true
}

// jsonAt returns the value at a path of an object; "" is the whole text.
func jsonAt(text, path string) (value any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil, false
	}
	for name := range strings.SplitSeq(path, ".") {
		if name == "" {
			continue
		}
		object, isObject := value.(map[string]any)
		if value, ok = object[name]; !isObject || !ok {
			return nil, false
		}
	}
	return value, true
}

// plain returns a value of JSON as text.
func plain(value any) string {
	switch v := value.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// weightOf returns the cost that an entry says: in a field of JSON, or in a part of the member, which is
// counted from 1; false where it says none.
func weightOf(entry, field string) (int64, bool) {
	if n, err := strconv.Atoi(field); err == nil && n > 0 {
		parts := strings.FieldsFunc(entry, func(r rune) bool { return strings.ContainsRune(":-|,_", r) })
		if n > len(parts) {
			return 0, false
		}
		return Count(parts[n-1])
	}
	value, ok := jsonAt(entry, field)
	n, whole := Count(plain(value))
	return n, ok && whole
}

// UnitNamed returns the unit of a time: s, ms, us, ns; 0 for another word.
func UnitNamed(name string) time.Duration {
	return map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}[name]
}
