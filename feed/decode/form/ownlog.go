package form

import (
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// log reads the times of requests, or of the ends of leases: those of a sorted set, a list, a hash or an
// array of JSON.
func (o *Own) log(d *decode.Decoded, now limiter.Instant, s *decode.Sample) (fault string) {
	l := o.layout
	d.State.Log = []limiter.Entry{}
	texts, whole, ok := l.entries(s)
	if !ok {
		return "no list of times"
	}
	d.Partial = !whole
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
			if n, ok = weightOf(one.member, l.Weight); !ok {
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
		if !found || !isList {
			return nil, false, false
		}
		for _, e := range list {
			if object, isObject := e.(map[string]any); isObject && l.At.Name != "" {
				e = object[l.At.Name]
			}
			all = append(all, stamped{plain(e), plain(e)})
		}
	}
	return all, whole, true
}

func (l *Layout) entryAt(one stamped, now limiter.Instant) (limiter.Instant, bool) {
	text := strings.TrimSpace(one.time)
	if value, ok := jsonAt(text, l.At.Name); l.At.Name != "" && ok {
		text = plain(value)
	}
	v, ok := Number(text)
	at, timed := instantIn(v, l.Unit, now)
	if l.Stamped {
		return at, ok && timed
	}
	return min(at, now), ok && timed // a client's clock may be ahead
}

// slices reads a hash of counters, one a slice of time.
func (o *Own) slices(d *decode.Decoded, now limiter.Instant, s *decode.Sample) (fault string) {
	l := o.layout
	if d.Partial = !s.Whole; d.Partial {
		return ""
	}
	keep := l.Keep
	if keep == 0 {
		keep = int64(l.Limit.Window / l.Slice)
	}
	index, size := int64(now)/l.Slice.Microseconds(), l.Slice.Microseconds()
	counts := make(map[int64]int64, len(s.Fields))
	for field, text := range s.Fields {
		number, isNumber := Whole(field)
		if !isNumber {
			continue // what stands beside the slices
		}
		n, ok := Signed(text)
		if !ok {
			return "no count in the field of a slice"
		}
		switch at, timed := instantIn(float64(number), l.Unit, now); {
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
	d.State.Log = []limiter.Entry{}
	for i := index - keep + 1; i <= index; i++ {
		if n := counts[i]; n > 0 {
			d.State.Log = append(d.State.Log, limiter.Entry{At: limiter.Instant(i * size), Count: n})
		}
	}
	d.Limit.Window = d.Window
	return ""
}
