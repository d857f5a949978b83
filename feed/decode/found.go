// Package decode tells limiters from other keys by what their data looks like, and decodes
// what others write: times in four units, theoretical arrival times, buckets, entries of
// streams, names that end in the start of a window. It takes nothing on trust: whatever
// does not fit is no limiter, and no input makes it panic.
package decode

import (
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/naming"
)

// Found is a Redis key that looks like a part of a limiter.
type Found struct {
	Key, Type string
	Name      string // the limiter's name
	Kind      Kind
	Own       limiter.Algorithm // of our own counters
	Start     limiter.Instant   // of counters
	Unit      time.Duration     // of foreign counters
	Field     string            // of buckets: what they are told by
	Sure      bool              // its data looks like a limiter, not just its type
	Telling   bool              // so much so, together with its name, that it is likely to be one
	Window    naming.Window     // of a counter: the part of its name that is the window of now, if there is one
	Candidate bool              // it has the shape of a limiter, but too little says that it is one
	Faint     bool              // as Candidate, where several of its pattern are alike: a small count that expires
	Refuted   bool              // a library's layout fits it, but for the siblings that a limiter there has
	Beside    bool              // its name is one of those that a library keeps beside its limiters
	Used      int64             // at most so many units count against the limit now; -1 not known
	Unsure    bool              // it may be known: its parts were read at moments too far apart to tell
	Denied    bool              // it is the stream of a limiter's denials
	Blocked   bool              // it says until when a limiter's key is blocked

	Evidence model.Evidence // Known where Match is set or the name is this library's own
	Library  string         // whose layout it is, "" where that is not known
	Match    *Match         // nil where no library's layout was recognized

	reasons []string // why it is likely to be a limiter, in clauses
}

// Why returns the evidence in clauses, nil where a person named the key.
func (f *Found) Why() []string {
	switch {
	case f.Match != nil:
		return f.Match.Why
	case f.Own != limiter.Unknown:
		return []string{"named {<key>}:fw:<start of a window> or {<key>}:sw:<start of a window>"}
	case f.Evidence == model.Likely:
		if len(f.reasons) > 0 {
			return f.reasons
		}
		return []string{"named as limiters are", "its value has the form of " + f.Kind.String()}
	}
	return nil
}

// Pattern returns the glob of the limiters of f's kind: names that begin alike.
func (f *Found) Pattern() string {
	if f.Match != nil {
		return f.Match.Pattern()
	}
	return patternOf(f.Name)
}

// General says whether the pattern of f follows from the names of many limiters alone.
func (f *Found) General() bool {
	return f.Match == nil || f.Match.Glob == "" && f.Match.Prefix == "" && f.Match.Suffix == ""
}

// patternOf returns the glob of the names that are like name up to its last separator.
func patternOf(name string) string {
	return naming.Escape(name[:strings.LastIndexAny(name, ":./|")+1]) + "*"
}

// Form returns what the key looks like by its value alone, without its library.
func (f *Found) Form() Found {
	if f.Match == nil {
		return *f
	}
	return FormOf(&f.Match.sample, f.Match.at)
}

// form returns the find of a match that is followed as others of its kind are.
func (m *Match) form() Found {
	f := FormOf(&m.sample, m.at)
	f.Name, f.Kind, f.Match = m.Name, m.Kind, m
	return f
}

// Kind is what the data of a limiter looks like.
type Kind uint8

const (
	None      Kind = iota // nothing there yet
	Log                   // a ZSET of instants
	Stream                // a stream of counts
	Counter               // a string a window
	Single                // one string with an expiry: a window that began with its first request
	TAT                   // one string or hash that holds a TAT
	Bucket                // a hash of level and instant
	Wrong                 // a type that the rule does not speak of
	OfLibrary             // the keys of a library that was recognized: Found.Match.Limiter reads them
	Opaque                // it may be a limiter, in a form that nothing reads
)

var kindNames = [...]string{
	"nothing", "a log of times", "a stream of counts", "a counter of a window", "a counter that expires", "a theoretical arrival time",
	"a bucket", "no limiter", "a library's", "a limiter in a form that is not known",
}

// String names what the value of the kind is, for the evidence about a key.
func (k Kind) String() string { return kindNames[min(int(k), len(kindNames)-1)] }

// ByName knows a key by its name alone.
func ByName(key string) (Found, bool) {
	if name, a, start, ok := layout.ParseKey(key); ok {
		return Found{Key: key, Type: "string", Name: name, Kind: Counter, Own: a, Start: start, Unit: time.Millisecond, Sure: true,
			Used: -1, Evidence: model.Known, Library: model.OwnLibrary}, true
	}
	if name, ok := ownerOf(key, ":denied", layout.DeniedKey); ok {
		return Found{Key: key, Type: "stream", Name: name, Denied: true}, true
	}
	if name, ok := ownerOf(key, ":blocked", layout.BlockedKey); ok {
		return Found{Key: key, Type: "string", Name: name, Blocked: true}, true
	}
	return Found{}, false
}

// NameOf returns the limiter that a key belongs to, by its name alone: what its counters
// have in common, the key that others stand beside, else the key itself.
func NameOf(key string, now limiter.Instant) string {
	if f, ok := ByName(key); ok {
		return f.Name
	}
	if base, _, _, ok := splitStart(key, now); ok {
		return base
	}
	return key
}

// ownerOf returns the limiter whose key beside its own this is.
func ownerOf(key, suffix string, beside func(string) string) (string, bool) {
	base, ok := strings.CutSuffix(key, suffix)
	if !ok {
		return "", false
	}
	for _, name := range [...]string{
		strings.TrimSuffix(strings.TrimPrefix(base, "{"), "}"),
		strings.TrimSuffix(base, ":"),
		strings.TrimSuffix(strings.TrimPrefix(base, "{!}"), "!"),
	} {
		if beside(name) == key {
			return name, true
		}
	}
	return "", false
}

// startReach is how far from now a number at the end of a name may lie to be taken for
// the start of a window: a counter that old has expired, or is stuck and counts nothing.
const (
	startPast   = 8 * 24 * time.Hour
	startFuture = 24 * time.Hour
)

// isEnd are the words before a time that is the end of a window.
var isEnd = map[string]bool{"reset": true, "resets": true, "end": true, "ends": true, "until": true, "exp": true, "expires": true}

// splitStart takes the window start off the end of a counter's name, as in
// prefix:resource:subject:1700000000 or …:1700000000000. Unit is time.Second or
// time.Millisecond.
func splitStart(key string, now limiter.Instant) (base string, start limiter.Instant, unit time.Duration, ok bool) {
	i := strings.LastIndexByte(key, ':')
	if i <= 0 || len(key)-i-1 < 9 || len(key)-i-1 > 14 {
		return "", 0, 0, false
	}
	n, err := strconv.ParseInt(key[i+1:], 10, 64)
	if before := key[strings.LastIndexAny(key[:i], ":._-")+1 : i]; err != nil || key[i+1] == '+' || key[i+1] == '0' || isEnd[before] {
		return "", 0, 0, false
	}
	for _, u := range Units[:2] {
		at := InstantIn(float64(n), u)
		if at > now.Add(-startPast) && at < now.Add(startFuture) {
			return key[:i], at, u, true
		}
	}
	return "", 0, 0, false
}
