package form

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
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
	switch {
	case s.Kind == "key":
		return beside.Text, beside.Exists()
	case s.Kind == "json", s.Kind == "field" && lead.Type == "string":
		value, found := jsonAt(lead.Text, s.Name)
		return plain(value), found
	case s.Kind == "field":
		text, ok = lead.Fields[s.Name]
		return text, ok
	}
	return lead.Text, lead.Exists()
}

func (s *Source) number(lead, beside *decode.Sample) (float64, bool) {
	text, ok := s.text(lead, beside)
	text = strings.TrimSpace(text)
	text = cmp.Or(decode.Serialized(text), text)
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
	text, held := s.text(lead, beside)
	at, ok := timeIn(text, cmp.Or(s.Unit, unit), now)
	return at, held && ok
}

// timeIn returns the time that a text says: a number in a unit, as instantIn reads it, or a date.
func timeIn(text string, unit time.Duration, now limiter.Instant) (limiter.Instant, bool) {
	text = strings.TrimSpace(text)
	if n, ok := Number(text); ok {
		return instantIn(n, unit, now)
	}
	return decode.TimeText(text)
}

// instantIn returns a time in a unit; with unit 0 in the one that makes it a time of these years. A time before 2001 is none,
// but for 0: it is in another unit.
func instantIn(n float64, unit time.Duration, now limiter.Instant) (limiter.Instant, bool) {
	unit = cmp.Or(unit, decode.UnitOf(n, now))
	if unit == 0 || n < 0 || n > 1e19 || n*float64(unit)/float64(time.Microsecond) > 1<<53 {
		return 0, false
	}
	at := decode.InstantIn(n, unit)
	return at, n == 0 || at >= 1e15
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

// log reads the times of requests, or of the ends of leases: those of a sorted set, a list, a hash or an
// array of JSON.
func (o *Own) log(d *decode.Decoded, now limiter.Instant, s *decode.Sample) (fault string) {
	l := o.layout
	d.State.Log = []limiter.Entry{}
	texts, whole, ok := l.entries(s)
	if !ok {
		return "no list of times"
	}
	d.ReadWhole(whole)
	for _, one := range texts {
		at, ok := l.entryAt(one, now)
		if !ok {
			return "an entry that is no time"
		}
		if l.Stamped {
			if at <= now {
				continue
			}
			d.Window = max(d.Window, at.Sub(now)) // one that was given for longer
		}
		n := int64(1)
		if l.Weight != "" {
			if n, ok = weightOf(one.member, l.Weight); !ok && s.Type == "hash" { // beside the time, not in the field's name
				n, ok = weightOf(one.time, l.Weight)
			}
			if !ok {
				return "an entry without a cost in " + l.Weight
			}
		}
		d.State.Log = append(d.State.Log, limiter.Entry{At: at, Count: n})
	}
	slices.SortStableFunc(d.State.Log, func(a, b limiter.Entry) int { return int(a.At - b.At) })
	if l.Stamped {
		for i := range d.State.Log {
			d.State.Log[i].At = d.State.Log[i].At.Add(-d.Window)
		}
	}
	d.Limit.Window = d.Window
	return ""
}

// stamped is an entry of a log: what its time is read from, and all of it.
type stamped struct{ time, member string }

// entries returns the entries of a log; whole is false where there are more than were read.
func (l *Layout) entries(s *decode.Sample) (all []stamped, whole, ok bool) {
	whole = true
	switch s.Type {
	case "zset", "list":
		if whole = s.Length <= int64(len(s.First)+len(s.Last)); whole && s.Length > int64(len(s.First)) {
			s.First = append(s.First, s.Last[int64(len(s.Last))-(s.Length-int64(len(s.First))):]...)
		}
		for _, e := range s.First {
			one := stamped{e.Member, e.Member}
			if s.Type == "zset" {
				one.time = decode.Score(e.Score)
			}
			all = append(all, one)
		}
	case "hash":
		whole = s.Whole
		for field, value := range s.Fields {
			all = append(all, stamped{value, field})
		}
	default:
		value, found := jsonAt(s.Text, l.Read.Name)
		list, isList := value.([]any)
		switch {
		case l.Read.Name == "" && !isList: // one time, or several by commas
			for one := range strings.SplitSeq(s.Text, ",") {
				list = append(list, strings.Trim(one, `" `))
			}
		case !found || !isList:
			return nil, false, false
		}
		for _, e := range list {
			text := plain(e)
			if _, isObject := e.(map[string]any); isObject {
				object, _ := json.Marshal(e) // which was read from JSON
				text = string(object)
			}
			all = append(all, stamped{text, text})
		}
	}
	return all, whole, true
}

func (l *Layout) entryAt(one stamped, now limiter.Instant) (limiter.Instant, bool) {
	text := strings.TrimSpace(one.time)
	if value, ok := jsonAt(text, l.At.Name); l.At.Name != "" && ok {
		text = plain(value)
	}
	if time, ok := decode.LeadingTime(text); ok {
		text = time
	}
	at, ok := timeIn(text, l.Unit, now)
	if l.Stamped {
		return at, ok
	}
	return min(at, now), ok // a client's clock may be ahead
}

// sliceForms are dates as a calendar writes them without what stands between its numbers.
var sliceForms = map[int]string{8: "20060102", 10: "2006010215", 12: "200601021504"}

var noSeparators = strings.NewReplacer("-", "", "/", "", ".", "", "_", "", ":", "", "T", "", " ", "")

// DateOf returns the instant that the name of a field of a slice is as a calendar's date of these years, in UTC.
func DateOf(field string, now limiter.Instant) (limiter.Instant, bool) {
	digits := noSeparators.Replace(field)
	t, err := time.Parse(sliceForms[len(digits)], digits)
	at := limiter.InstantOf(t)
	return at, err == nil && digits != "" && at.Sub(now).Abs() < 366*day
}

// slices reads a hash of counters, one a slice of time.
func (o *Own) slices(d *decode.Decoded, now limiter.Instant, s *decode.Sample) (fault string) {
	l := o.layout
	if d.ReadWhole(s.Whole); !s.Whole {
		return ""
	}
	keep := cmp.Or(l.Keep, int64(l.Limit.Window/l.Slice))
	_, east := now.Time().In(l.Zone).Zone()
	ahead, size := limiter.Instant(int64(east)*1e6), l.Slice.Microseconds() // of UTC
	index := int64(now+ahead) / size
	counts := make(map[int64]int64, len(s.Fields))
	for field, text := range s.Fields {
		number, isNumber := Whole(field)
		date, isDate := DateOf(field, now)
		if isDate = isDate && l.Ring == 0; !isNumber && !isDate {
			continue // what stands beside the slices
		}
		n, ok := Signed(text)
		if !ok {
			return "no count in the field of a slice"
		}
		if l.Weight == "" {
			d.Counts = append(d.Counts, n)
		}
		n = int64(math.Ceil(float64(n) / l.each()))
		switch at, timed := instantIn(float64(number), l.Unit, now); {
		case isDate:
			counts[int64(date)/size] += n
		case l.Ring > 0:
			if number < l.Ring {
				counts[index-((index-number)%l.Ring+l.Ring)%l.Ring] += n
			}
		case timed && (l.Unit != 0 || number > index+index/8):
			counts[int64(at)/size] += n
		default:
			counts[number] += n
		}
	}
	d.Window = l.Slice * time.Duration(keep)
	if l.Weigh != "" {
		d.Window, d.Limit.Window = l.Slice, l.Slice
		d.State.Start = limiter.Instant(index*size) - ahead
		d.State.Current, d.State.Previous, d.PreviousKnown = counts[index], counts[index-1], true
		d.State.PreviousStart = d.State.Start.Add(-l.Slice)
		return ""
	}
	d.State.Log = []limiter.Entry{}
	for _, i := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[i]; n > 0 && i > index-keep && i <= index {
			d.State.Log = append(d.State.Log, limiter.Entry{At: limiter.Instant(i*size) - ahead, Count: n})
		}
	}
	d.Limit.Window = d.Window
	return ""
}

// Several are the limiters of one subject that several rules read, as one limiter: the one that denies
// longest or, where none does, has the least left.
type Several []*Own

// Fetch reads the keys of all of them.
func (all Several) Fetch(now limiter.Instant) (fetched []decode.Fetch) {
	for _, o := range all {
		fetched = append(fetched, o.Fetch(now)...)
	}
	return fetched
}

// Decode returns the strictest. One that cannot be read, or not whole, goes first, for it may be that.
func (all Several) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) (strictest decode.Decoded) {
	var members []string
	var best [3]int64
	for i, o := range all {
		d := o.Decode(now, got[:o.keys], given)
		got, members = got[o.keys:], append(members, d.Members...)
		if s := Strictness(&d, now); i == 0 || slices.Compare(s[:], best[:]) > 0 {
			strictest, best = d, s
		}
	}
	strictest.Members = members
	strictest.Notes = append(strictest.Notes, model.OneOfSeveral)
	return strictest
}

// Strictness returns how much a limiter denies, in numbers that are the greater the more: whether that is not known, how long until
// it admits one, and how little is left.
func Strictness(d *decode.Decoded, now limiter.Instant) (s [3]int64) {
	state := d.State
	state.Algorithm = d.Algorithm
	is := state.Peek(now, d.Limit, d.Convention, 1)
	if s[1], s[2] = int64(is.RetryAfter), -is.Remaining; d.LimitFrom == model.NoLimit {
		s[2] = -limiter.MaxCount
	}
	if d.Err != "" || d.Partial {
		s[0] = 1
	}
	if d.State.BlockedUntil > now {
		s[1] = max(s[1], int64(d.State.BlockedUntil.Sub(now)))
	}
	return s
}
