package form

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/format"
)

// Layout is how an application keeps limiters of its own: what a rule with name says, in its own words.
// The zero value of a field says nothing. It is not changed after Check.
type Layout struct {
	Name Template
	Read Source // what is read; its Kind is a word of Reads
	Ends Source // when that stops counting: Kind "name", "expiry", "key" or "field"; Unit 0 is a number of the window
	// Amount and At are the amount of a bucket, or the entries' times, and when that was true.
	Amount, At Source
	Unit       time.Duration // of times; 0: the one that makes them times of these years
	Zone       *time.Location
	Stamped    bool // the times of a log are those at which its entries end
	Charged    bool // denied requests are counted, too
	Left       bool // what is read is what is left of the limit
	Refill     string
	Weigh      string
	Block      Source // a key that denies everything while it exists, or a field with the time until which everything is denied
	Slice      time.Duration
	Ring, Keep int64 // of slices
	Sum        int64 // windows that count together; 0 is 1
	Plus       string
	Rate       Source // tokens a Unit, a second where that is 0
	Capacity   string
	Weight     string

	Limit      limiter.Limit
	LimitKnown bool
	// Row is the template of the names of rows; Label, where it is not empty, is appended, for another rule
	// has rows of the same names.
	Row   Template
	Label string
}

// Reads are the words of Layout.Read.Kind, each with the Redis types that it reads; nil is any.
var Reads = map[string][]string{
	"value": {"string"}, "field": {"hash"}, "length": {"list", "set"}, "present": nil, "fields": {"hash"},
	"zset": {"zset"}, "list": {"list"}, "hash": {"hash"}, "json": {"string"},
	"bucket": {"hash", "string"}, "level": {"hash", "string"}, "tat": {"hash", "string"},
}

// Refills and Weighs are the words of Layout.Refill and Layout.Weigh.
var (
	Refills = []string{"whole tokens", "whole window"}
	Weighs  = map[string]convention.Rounding{"floor": convention.Floor, "exact": convention.Exact}
)

// types returns the Redis types of the leading key; nil is any.
func (l *Layout) types() []string {
	switch kind := l.Read.Kind; {
	case kind == "tat" && l.At.Kind == "":
		return []string{"string"}
	case kind != "bucket" && kind != "level" && kind != "tat":
		return Reads[kind]
	}
	for _, s := range []Source{l.Amount, l.At} {
		switch s.Kind {
		case "field":
			return []string{"hash"}
		case "value", "json":
			return []string{"string"}
		}
	}
	return Reads["bucket"]
}

// Shares reports whether limiters of two layouts may have rows of one name: not where they read the same keys by other types.
func (l *Layout) Shares(o *Layout) bool {
	mine, its := l.types(), o.types()
	apart := l.Name.text == o.Name.text && mine != nil && its != nil &&
		!slices.ContainsFunc(mine, func(typ string) bool { return slices.Contains(its, typ) })
	return l.Row.text == o.Row.text && !apart
}

// mostSum bounds how many windows may count together: each of them is one more key to read.
const mostSum = 1000

// Check completes a layout and says what it lacks or contradicts.
func (l *Layout) Check() error {
	l.Row = l.Name.Base()
	l.Zone = cmp.Or(l.Zone, time.UTC)
	form := l.Name.window
	if l.Ends.Kind == "" {
		if l.Ends.Kind = "expiry"; form != nil {
			l.Ends.Kind = "name"
		}
	}
	bucket := l.Read.Kind == "bucket" || l.Read.Kind == "level"
	switch {
	case l.Ends.Kind == "name" && form == nil:
		return fmt.Errorf("ends: name, but %q holds no window: write {window:FORM} where it stands", l.Name.text)
	case (l.Sum > 1 || l.Weigh != "" && l.Read.Kind != "fields") && l.Ends.Kind != "name":
		return fmt.Errorf("sum and weigh speak of windows, and %q holds none: write {window:FORM} where it stands", l.Name.text)
	case form != nil && form.pieces == nil && !l.LimitKnown && l.Limit.Window == 0 && (form.unit != 0 || form.ring != 0 || form.since != 0):
		return fmt.Errorf("limit is missing: how long a window of {window:%s} lasts follows from it", form.text)
	case bucket && (l.Amount.Kind == "" || l.At.Kind == ""):
		return fmt.Errorf("read: %s needs amount and at: the fields, or the keys, of how much and of when that was true", l.Read.Kind)
	case l.Rate.Kind == "key":
		return fmt.Errorf("rate: %q is another key: name the field of the bucket in which its rate stands", l.Rate.Key.text)
	case l.Sum > mostSum || l.Sum > 1 && l.Limit.Window > 0 && l.Limit.Window/time.Duration(l.Sum) < limiter.MinWindow:
		return fmt.Errorf("sum: %d is out of range: give how many windows count together, at most %d and each of 1ms or more", l.Sum, mostSum)
	case l.Slice > 0 && l.Keep > int64(limiter.MaxWindow/l.Slice):
		return fmt.Errorf("keep: %d slices of %v are out of range: give how many slices count, at most a year of them", l.Keep, l.Slice)
	case l.Read.Kind == "fields" && l.Slice == 0:
		return fmt.Errorf("read: fields needs slice: how long a field counts requests, as in slice: 2s")
	case l.Read.Kind == "fields" && l.Keep == 0 && l.Limit.Window < l.Slice:
		return fmt.Errorf("read: fields needs a limit of at least one slice, or keep: how many slices count")
	case l.Read.Kind != "fields" && (l.Slice > 0 || l.Ring > 0 || l.Keep > 0):
		return fmt.Errorf("slice, ring and keep speak of read: fields, and it is %s: leave them out", l.Read.Kind)
	case !bucket && (l.Amount.Kind != "" || l.Refill != "" || l.Plus != "" || l.Rate.Kind != "" || l.Capacity != ""):
		return fmt.Errorf("amount, refill, plus, rate and capacity speak of read: bucket and level, and it is %s: leave them out", l.Read.Kind)
	case l.Block.Kind == "field" && !slices.Contains(l.types(), "hash") && l.Read.Kind != "json" && l.Amount.Kind != "json":
		return fmt.Errorf("block: field %s is of a hash or of JSON, and read: %s is none: name the key that blocks", l.Block.Name, l.Read.Kind)
	case l.Ends.Kind == "field" && l.Ends.Unit == 0 && l.Limit.Window == 0:
		return fmt.Errorf("limit is missing: how long a window lasts whose number is in %s follows from it", l.Ends.Name)
	}
	for _, t := range l.beside() {
		if strings.Count(t.text, "*") > strings.Count(l.Name.text, "*") {
			return fmt.Errorf("%q holds a * that the name %q does not: say which key it is", t.text, l.Name.text)
		}
	}
	return nil
}

// beside returns the names of the keys beside a leading key, some of which may be blank.
func (l *Layout) beside() []*Template {
	return []*Template{&l.Ends.Key, &l.Amount.Key, &l.At.Key, &l.Block.Key}
}

// windows returns how long a window may be, the likeliest first: where several are summed the limit may
// speak of one of them or of all.
func (l *Layout) windows() []time.Duration {
	w := l.Limit.Window
	switch {
	case l.Slice > 0:
		return []time.Duration{l.Slice}
	case l.Sum > 1 && w > 0:
		one := w / time.Duration(l.Sum)
		switch form := l.Name.window; {
		case form == nil || form.pieces == nil && form.unit == 0:
			return []time.Duration{one, w} // their numbers tell which
		case form.finest <= one:
			return []time.Duration{one} // else an old window of one would be a new one of w
		}
	}
	return []time.Duration{w}
}

// counted returns how many windows are read: those that count together, and the one before of a weighted
// counter.
func (l *Layout) counted() int64 {
	if l.Weigh != "" {
		return 2
	}
	return max(l.Sum, 1)
}

// Match is what a layout says of a key.
type Match struct {
	Parts  parts
	Member bool          // it stands beside a leading key
	Over   bool          // its window is over, so that it counts nothing
	window time.Duration // of one counter; 0: not known, or the name holds none
	origin limiter.Instant
}

// Match says whether a key is of the layout; typ "" is a key whose type is not known. Where a key fits the
// name and that of a key beside, it is the one whose subject is shorter.
func (l *Layout) Match(key, typ string, now limiter.Instant) (m Match, ok bool) {
	p, text, ok := l.Name.match(key)
	if types := l.types(); ok && (typ == "" || types == nil || slices.Contains(types, typ)) {
		m.Parts = p
		if l.Name.window != nil {
			if m.Over = !l.place(&m, text, now); m.Over {
				m.window, m.origin = l.windows()[0], 0
			}
		}
	} else {
		ok = false
	}
	for _, t := range l.beside() {
		if p, _, beside := t.match(key); beside && (!ok || len(p.who) < len(m.Parts.who)) {
			m, ok = Match{Parts: p, Member: true, window: l.windows()[0]}, true
		}
	}
	return m, ok
}

// RowOf says whether a name is that of a row, as Own.Name returns it. Without its label it is that of every
// rule whose rows are named so.
func (l *Layout) RowOf(name string) (m Match, ok bool) {
	m.window = l.windows()[0]
	if base, labelled := strings.CutSuffix(name, ":"+l.Label); labelled && l.Label != "" {
		if m.Parts, _, ok = l.Row.match(base); ok {
			return m, ok
		}
	}
	m.Parts, _, ok = l.Row.match(name)
	return m, ok
}

// Subject returns the subject that a key, or the name of a row, is of, its leading key at an instant, and a
// Replacer that writes the window of that instant in the place of the name's.
func (l *Layout) Subject(name string, at limiter.Instant) (who string, window *strings.Replacer, lead string, ok bool) {
	m, ok := l.Match(name, "", at)
	for n := time.Duration(1); ok && m.Over && n <= 2; n++ { // the key of a window that ended not long ago
		if before, fits := l.Match(name, "", at.Add(-n*m.window)); fits && !before.Over {
			m = before
		}
	}
	if !ok || m.Over {
		if row, is := l.RowOf(name); is {
			m, ok = row, true
		}
	}
	if !ok || m.Parts.who == "" || !l.Readable(m) {
		return "", nil, "", false
	}
	text := ""
	if form := l.Name.window; form != nil {
		start, end := form.bounds(at, m.window, m.origin, l.Zone)
		text = form.format(start, end, l.Zone)
		window = strings.NewReplacer("{window:"+form.text+"}", text)
	} else {
		window = strings.NewReplacer()
	}
	return m.Parts.who, window, l.Name.render(m.Parts, text), true
}

// Readable reports whether the keys of a match can be named: how long a numbered window lasts is known.
func (l *Layout) Readable(m Match) bool {
	return l.Name.window == nil || l.Name.window.pieces != nil || m.window > 0
}

// IsLog reports whether the limiters are sorted sets of the times of requests and nothing else, which are
// followed as those of ratescope itself are.
func (l *Layout) IsLog() bool {
	return l.Read.Kind == "zset" && l.Weight == "" && !l.Stamped && l.Name.window == nil
}

// Expires reports whether what is read counts until its key expires, so that a key that never does counts for ever.
func (l *Layout) Expires() bool {
	return l.Ends.Kind == "expiry" && l.Read.Kind != "level" && l.settings().Algorithm == limiter.FixedWindow
}

// place finds the window of a name among those that count now: of the length that the limit says, and
// begun where the name says.
func (l *Layout) place(m *Match, text string, now limiter.Instant) bool {
	form := l.Name.window
	n, failed := strconv.ParseInt(strings.TrimSuffix(text, form.after), cmp.Or(form.base, 10), 64)
	for _, w := range l.windows() {
		if w <= 0 && form.pieces == nil {
			if w, _, _ = WindowOfIndex(n, now); w <= 0 {
				continue
			}
		}
		m.window = w
		if form.unit != 0 && failed == nil {
			if start := limiter.Instant(n * int64(form.unit) / 1000); start.Sub(now).Abs() < limiter.MaxWindow {
				m.origin = start - start.Floor(w)
			}
		}
		// A client's clock may be ahead of the server's, so that the window that comes is there already.
		start, end := form.bounds(now, w, m.origin, l.Zone)
		for range l.counted() {
			if form.format(start, end, l.Zone) == text {
				return true
			}
			start, end = form.bounds(start-1, w, m.origin, l.Zone)
		}
		if _, next := form.bounds(now, w, m.origin, l.Zone); next.Sub(now) < decode.ClientAhead {
			if start, end = form.bounds(next, w, m.origin, l.Zone); form.format(start, end, l.Zone) == text {
				return true
			}
		}
	}
	return false
}

// settings are what the layout says of how its limiters limit.
func (l *Layout) settings() decode.Settings {
	s := decode.Settings{Algorithm: limiter.FixedWindow, Limit: l.Limit, Window: l.Limit.Window}
	if l.LimitKnown {
		s.LimitFrom = model.LimitOfRule
	}
	if l.Charged {
		s.Convention.Denied = convention.Charged
	}
	switch l.Read.Kind {
	case "bucket":
		if s.Algorithm = limiter.TokenBucket; l.Refill == "whole window" {
			s.Convention.Refill = convention.Interval
		}
	case "level":
		if l.Refill != "whole window" { // else it is a count and when its window began
			s.Algorithm = limiter.LeakyBucket
		}
	case "tat":
		s.Algorithm = limiter.GCRA
	case "zset", "list", "hash", "fields":
		s.Algorithm = limiter.SlidingLog
	case "json":
		if l.Read.Name == "" {
			s.Algorithm = limiter.SlidingLog
		}
	}
	switch {
	case l.Weigh != "":
		s.Algorithm, s.Convention.Rounding = limiter.SlidingWindow, Weighs[l.Weigh]
	case l.Sum > 1:
		s.Algorithm = limiter.SlidingLog
	case s.Algorithm == limiter.FixedWindow:
		s.Convention = limiter.Convention{Alignment: convention.FirstRequest}
	}
	return s
}

// readWords say what a word of Reads reads, for a person.
var readWords = map[string]string{
	"value": "the number in a string", "field": "the number in the field %s of a hash", "length": "how many elements a list or a set has",
	"present": "whether the key is there, which denies", "fields": "the counters in a hash, one for every %s",
	"zset": "the scores of a sorted set", "list": "the elements of a list", "hash": "the values of a hash", "json": "%s in JSON",
	"bucket": "a bucket of tokens: %s", "level": "a bucket that leaks: %s", "tat": "the theoretical arrival time (TAT) in %s",
}

// Explain says in words what a layout reads, until when it counts, and what it is held to.
func (l *Layout) Explain() string {
	read := readWords[l.Read.Kind]
	switch l.Read.Kind {
	case "field":
		read = fmt.Sprintf(read, l.Read.Name)
	case "json":
		read = fmt.Sprintf(read, cmp.Or(l.Read.Name, "a list of times"))
	case "fields":
		read = fmt.Sprintf(read, l.Slice)
	case "bucket", "level":
		read = fmt.Sprintf(read, "how much in "+l.Amount.words()+", and when that was true in "+l.At.words())
		if l.settings().Algorithm == limiter.FixedWindow {
			read = "a count in " + l.Amount.words() + ", and when its window began in " + l.At.words()
		}
	}
	if l.Read.Kind == "tat" {
		at := l.At
		at.Kind = cmp.Or(at.Kind, "value")
		read = fmt.Sprintf(read, at.words())
	}
	how := l.settings()
	parts := []string{"reads " + read}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	log := how.Algorithm == limiter.SlidingLog && l.Sum < 2 && l.Read.Kind != "fields"
	add(log && !l.Stamped, "each the time of a request")
	add(log && l.Stamped, "each the time at which a lease ends")
	add(l.Unit != 0, "times in %s", map[time.Duration]string{
		time.Second: "seconds", time.Millisecond: "milliseconds", time.Microsecond: "microseconds", time.Nanosecond: "nanoseconds"}[l.Unit])
	add(l.Refill == "whole window" && l.Read.Kind == "bucket", "filled at once, a window later")
	add(l.Left, "which is what is left of the limit")
	add(l.each() > 1, "%s for each request", l.Weight)
	counts := l.Read.Kind != "bucket" && l.Read.Kind != "level" && l.Read.Kind != "tat" && !log && l.Read.Kind != "fields"
	switch {
	case !counts:
	case l.Ends.Kind == "name":
		add(l.Name.window.pieces == nil, "in the window that the name says as %s", l.Name.window.text)
		add(l.Name.window.pieces != nil, "in the window that the name says as %s in %s", l.Name.window.text, l.Zone)
		add(l.Sum > 1, "%d windows together", l.Sum)
		add(l.Weigh != "", "and in the window before, as far as the sliding window covers it")
	case l.Ends.Kind == "expiry":
		add(true, "until the key expires")
	case l.Ends.Unit == 0:
		add(true, "in the window whose number is in %s", l.Ends.words())
	default:
		add(true, "until the time in %s", l.Ends.words())
	}
	add(l.Charged, "denied requests included")
	add(l.Block.Kind == "key", "and denies everything while %s is there", l.Block.Key.text)
	add(l.Block.Kind == "field", "and denies everything until the time in %s", l.Block.words())
	text := strings.Join(parts, ", ")
	text += fmt.Sprintf("; %v", how.Algorithm)
	switch {
	case !l.LimitKnown:
		return text + ", of which the rule does not say the limit"
	case l.Limit.Burst > 0:
		return text + fmt.Sprintf(", %d in %s and %d at once", l.Limit.Count, format.Length(l.Limit.Window), l.Limit.Burst)
	}
	return text + fmt.Sprintf(", %d in %s", l.Limit.Count, format.Length(l.Limit.Window))
}

// words says where a value stands.
func (s *Source) words() string {
	switch s.Kind {
	case "key":
		return "the key " + s.Key.text
	case "value":
		return "the string"
	case "json":
		return s.Name + " in JSON"
	}
	return "the field " + s.Name
}
