package decode

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Library describes how one library keeps its limiters in Redis. The package library lists
// them all.
type Library struct {
	// Name is what the library's package registry calls it: "rate-limit-redis".
	Name string
	// Version is the one whose commands and answers the fixtures hold, "" where there are none.
	Version string
	// Published is set where no registry could give the library itself, so that the fixtures
	// hold the commands that its published source issues.
	Published bool
	// Types are the Redis types of the keys that Recognize is asked about.
	Types []string
	// Fields are the fields of hashes that Recognize needs to see.
	Fields []string
	// Lists finds the names of the library's lists, "" for none. The elements of
	// other lists are not read: each may be as large as the server's memory.
	Lists string
	// Beside finds the keys that the library keeps beside those of its limiters; "" finds none.
	Beside string
	// Silent lists what the library does not record, for a person: "denied requests".
	Silent []string
	// Keeps says how the library lays its keys out, for a person.
	Keeps string
	// Recognize returns the limiter that s belongs to, or nil. It must not return one unless
	// name, value and expiry agree; a sibling that has to agree, too, goes into Match.Siblings.
	Recognize func(s *Sample, c Context) *Match
}

// Context is what Recognize is told beside the sample.
type Context struct {
	Now   limiter.Instant
	Named bool // a rule says that the key is this library's: a prefix of its own is accepted
}

// Match is a limiter that a library recognized.
type Match struct {
	Library *Library
	Name    string   // of the row: the leading key, or, where keys come and go, what they have in common
	Prefix  string   // of the names of limiters of its kind, which share limit and window: "rl:"
	Suffix  string   // of the same names: ":default}:hits"
	Why     []string // the evidence, in clauses: "named rl:<id>", "an integer that expires"
	Limiter Limiter

	// Settings are what the sample says of how the limiter limits; the algorithm is always set.
	Settings
	// Kind is set where Limiter is nil: the limiter is followed as others of that kind are, with
	// these settings.
	Kind Kind
	// Span is the least that the window lasts, as Decoded.Span, by the sample.
	Span time.Duration

	// Blocks is a key that denies everything until it expires, beside a limiter that is followed as
	// others of its Kind are; "" for none.
	Blocks string

	// Siblings are keys that have to agree before the match holds; Confirm is given a sample of
	// each, in the same order.
	Siblings []Fetch
	Confirm  func(siblings []Sample) bool
	Shared   bool // other programs lay their keys out so, too: it holds for none that no rule names

	// Rule is the number, from 1, of the rule whose layout the keys have; 0 where it is a library's. Glob is
	// then the pattern of its limiters.
	Rule int
	Glob string

	sample Sample // that was recognized
	at     limiter.Instant
}

// Settings is how a limiter limits, as far as its keys say.
type Settings struct {
	Algorithm  limiter.Algorithm
	Convention limiter.Convention
	Limit      limiter.Limit
	LimitFrom  model.LimitFrom // NoLimit: Limit.Count is not known
	LimitKey   string          // that holds the limit, where it is a key beside the limiter's own
	Window     time.Duration   // 0: not known
	// Tick is the step in which the clock of the library counts; 0 where it is as fine as ours.
	Tick time.Duration
	// NeedsBurst is set where a limit without its burst says nothing: it is then not known.
	NeedsBurst bool
	// Guessed is set where the window was inferred, as from the longest expiry seen.
	Guessed bool
}

// Limiter is one limiter in the keys of a library. It may remember what it saw, and is used by
// one goroutine.
type Limiter interface {
	// Fetch returns what to read at the instant now, the leading key first.
	Fetch(now limiter.Instant) []Fetch
	// Decode says what the samples mean, which are those of Fetch in the same order, read at now.
	// given is what a rule says of the limit and the window.
	Decode(now limiter.Instant, got []Sample, given Settings) Decoded
}

// Decoded is what the keys of one limiter mean at the instant at which they were read.
type Decoded struct {
	Settings
	State limiter.State
	// PreviousKnown says whether State.Previous counts the window before.
	PreviousKnown bool
	// Ends is when a window of unknown length ends.
	Ends limiter.Instant
	// Charged is set where denied requests are counted, too: what is counted beyond the limit
	// was denied.
	Charged bool
	// Hides is set where the library goes on to deny without counting, as a process does that
	// remembers a denial: how many were denied is then not known once the limit is reached.
	Hides  bool
	Denied model.Count
	// NewlyDenied is how many denied requests were recorded since the reading before.
	NewlyDenied int64
	// Partial is set where what is used is not known, or only that it is at least State's.
	Partial bool
	// Approximate is set where only the number of the requests in State.Log is read from the keys,
	// and the instants of most lie between those of others.
	Approximate bool
	// More is set where the next Fetch has to be read at once, for what was read does not tell
	// enough. A limiter that goes on asking ends it by itself.
	More bool
	// Span is the least that the window lasts, as far as the keys tell: an expiry that is no
	// block; 0 where they do not. The longest seen over all limiters of a kind is their window.
	Span time.Duration
	// Counts are the numbers that the keys hold, where it is not told how many of them one request counts.
	Counts  []int64
	Members []string // the keys that exist
	TTL     time.Duration
	Type    string // of the leading key; "none" where no key exists
	Notes   []model.Note
	Err     string // why the keys cannot be decoded: one sentence without the key and without values
}

// ReadWhole sets Partial, and adds a note, where the keys were not read whole: what is used is then not known.
func (d *Decoded) ReadWhole(is bool) {
	if d.Partial = !is; !is {
		d.Notes = append(d.Notes, model.NotWhole)
	}
}

// Rules is what rules of the user say of keys. A nil Rules says nothing.
type Rules interface {
	// Library returns the library that a rule names for a key, "" none.
	Library(key string) string
	// Own returns the limiters of whose layout, told by rules, a key of a type is; claimed is true where
	// it is of one, which may have no limiter now, as when its window is over.
	Own(key, typ string, now limiter.Instant) (limiters []*Match, claimed bool)
	// Named returns the limiter that a user names by a key of it, or by its row; nil for none. typ is
	// that of the key, "none" where it does not exist.
	Named(name, typ string, now limiter.Instant) *Match
}

// ofRule stands for a library where rules tell the layout.
var ofRule = &Library{}

// Told returns what a rule tells of a key as a find.
func (m *Match) Told(key, typ string) Found {
	m.Library = ofRule
	f := Found{Key: key, Type: typ, Name: m.Name, Kind: OfLibrary, Match: m, Sure: true, Used: -1, Evidence: model.Told}
	if m.Kind != None {
		f.Kind = m.Kind
	}
	return f
}

// Recognizer tells limiters from other keys by the layouts of the libraries that it knows.
type Recognizer struct {
	byType map[string][]*Library
	fields []string
	lists  []*regexp.Regexp
	beside []*regexp.Regexp
}

// NewRecognizer returns a recognizer of libraries, which are tried in their order.
func NewRecognizer(libraries []*Library) *Recognizer {
	r := &Recognizer{byType: make(map[string][]*Library)}
	for _, l := range libraries {
		for _, t := range l.Types {
			r.byType[t] = append(r.byType[t], l)
		}
		r.fields = append(r.fields, l.Fields...)
		if l.Lists != "" {
			r.lists = append(r.lists, regexp.MustCompile(l.Lists))
		}
		if l.Beside != "" {
			r.beside = append(r.beside, regexp.MustCompile(l.Beside))
		}
	}
	r.fields = append(r.fields, hashFields...)
	slices.Sort(r.fields)
	r.fields = slices.Compact(r.fields)
	return r
}

// sampleBytes is how much of a string is read to recognize it: a serialized state names its
// class within that.
const sampleBytes = 128

// Survey returns what to read of a key to recognize it; ok is false where nothing of it is to
// be read.
func (r *Recognizer) Survey(key, typ string) (f Fetch, ok bool) {
	f = Fetch{Key: key, Type: typ}
	switch typ {
	case "string":
		f.Bytes = sampleBytes
	case "hash":
		f.Fields = r.fields
	case "zset":
		f.Ends = 1
	case "stream":
	case "set": // its size alone
		return f, len(r.byType[typ]) > 0
	case "list":
		f.Ends = 1
		if !slices.ContainsFunc(r.lists, func(is *regexp.Regexp) bool { return is.MatchString(key) }) {
			return f, false
		}
	default:
		return f, false
	}
	return f, true
}

// Matches returns the limiters that s may belong to, the likeliest first; none where no library
// knows it. With a name only that library is asked, and a prefix of its own is accepted. A match
// with Siblings holds only when they confirm it; else the next one does.
func (r *Recognizer) Matches(s *Sample, now limiter.Instant, library string) (all []*Match) {
	if !s.Exists() {
		return nil
	}
	for _, l := range r.byType[s.Type] {
		if library != "" && l.Name != library {
			continue
		}
		if m := l.Recognize(s, Context{Now: now, Named: library != ""}); m != nil {
			m.Library, m.sample, m.at = l, *s, now
			m.Name = cmp.Or(m.Name, s.Key)
			if all = append(all, m); len(m.Siblings) == 0 {
				break
			}
		}
	}
	return all
}

// Confirmed says whether a match holds, given samples of its siblings.
func (m *Match) Confirmed(siblings []Sample) bool {
	return !m.Shared && (m.Confirm == nil || len(siblings) == len(m.Siblings) && m.Confirm(siblings))
}

// Pattern returns the glob of the limiters of m's kind, for a rule.
func (m *Match) Pattern() string {
	switch {
	case m.Glob != "":
		return m.Glob
	case m.Prefix != "" || m.Suffix != "":
		return naming.Escape(m.Prefix) + "*" + naming.Escape(m.Suffix)
	case m.Kind != None: // its name is the caller's own, as that of a key known by its form
		return patternOf(m.Name)
	}
	return naming.Escape(m.Name)
}

// Windows infers the windows of counters whose keys do not hold them: a counter expires when its
// window ends, so that the longest expiry seen over all limiters of a kind, those of one library
// with one prefix, is their window as soon as one of them was seen young enough. It is for one
// goroutine. A nil *Windows infers nothing.
type Windows struct {
	longest map[kindOf]time.Duration
}

// kindOf tells the limiters that share limit and window from others.
type kindOf struct{ library, prefix, suffix string }

func (m *Match) kind() kindOf {
	if m.Prefix == "" && m.Suffix == "" {
		return kindOf{m.Library.Name, m.Name, ""}
	}
	return kindOf{m.Library.Name, m.Prefix, m.Suffix}
}

// Meet learns from what a key held when it was recognized; m may be nil.
func (w *Windows) Meet(m *Match) {
	if m != nil {
		w.Learn(m, m.Span)
	}
}

// Learn notes that the window of m's kind lasts span or longer; 0 or less says nothing.
func (w *Windows) Learn(m *Match, span time.Duration) {
	if w == nil || m == nil || m.Library == nil || span <= 0 {
		return
	}
	k := m.kind()
	if span <= w.longest[k] || w.longest[k] == 0 && len(w.longest) >= mostKinds {
		return
	}
	collect.Put(&w.longest, k, span)
}

// Of returns the window of m's kind, 0 while what was seen is not just below a period that people
// choose.
func (w *Windows) Of(m *Match) time.Duration {
	if w == nil || m == nil || m.Library == nil {
		return 0
	}
	return snapUp(w.longest[m.kind()])
}

// mostKinds bounds the memory: hostile names could make a kind of each key.
const mostKinds = 4096

// snapUp returns the shortest usual period that is at most 2 % longer than span, 0 for none: an
// expiry is read a little after it was set, so that it is never above the period.
func snapUp(span time.Duration) time.Duration {
	for _, w := range usual {
		if w >= span {
			return collect.If(span > 0 && w-span <= w/50, w, 0)
		}
	}
	return 0
}

// usual are the Periods that most people choose: of a rarer one nothing is inferred, since each takes
// in the chance expiries just below it.
var usual = slices.DeleteFunc(slices.Clone(Periods[:]), func(p time.Duration) bool { return slices.Contains(rare, p) })

var rare = []time.Duration{
	4 * time.Second, 6 * time.Second, 8 * time.Second, 12 * time.Second, 40 * time.Second, 45 * time.Second, 90 * time.Second,
	4 * time.Minute, 45 * time.Minute,
}

// Periods are the windows that people choose, shortest first, for what tells its window all but
// exactly.
var Periods = [...]time.Duration{
	time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 8 * time.Second, 10 * time.Second,
	12 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 45 * time.Second,
	time.Minute, 90 * time.Second, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour,
	day, 2 * day, 3 * day, 7 * day, 14 * day, 28 * day, 30 * day, 31 * day, 90 * day, 365 * day,
}

const day = 24 * time.Hour

// ClientAhead is how far the clock of a program may be ahead of the server's.
const ClientAhead = 2 * time.Second

// spansPeriod says whether text is a list of numbers in JSON, or the beginning of one, of which one
// is an instant of the past, and the key expires a usual period after it: a log of requests, or the
// state of a bucket with the instant of its last one. Expiries are given when a request is decided,
// and often in whole seconds.
func spansPeriod(text string, now, expiry limiter.Instant) bool {
	if len(text) < 2 || text[0] != '[' {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(text[1:], "]"), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return false
		}
		unit := UnitOf(v, now)
		if unit == 0 {
			continue
		}
		at := InstantIn(v, unit)
		if at > now.Add(tatSlack) {
			continue
		}
		for _, p := range usual {
			if (expiry.Sub(at)-p).Abs() <= 1100*time.Millisecond && p >= 10*time.Second {
				return true
			}
		}
	}
	return false
}
