// Package decode tells limiters from other keys by what their data looks like, and decodes
// what others write: times in four units, theoretical arrival times, buckets, entries of
// streams, names that end in the start of a window. It takes nothing on trust: whatever
// does not fit is no limiter, and no input makes it panic.
package decode

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
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

// Fetch says what to read of one Redis key. Every command that it stands for takes constant
// time or time in proportion to what it returns, and nothing is written.
type Fetch struct {
	Key    string
	Type   string   // as TYPE says; it chooses the commands
	Bytes  int64    // string: how many bytes at most; 0 means LongestNumber
	Fields []string // hash: the fields to read
	Pairs  int64    // hash: about how many fields to read whatever their names; all of a small hash
	Ends   int64    // zset and list: how many elements to read from either end
	Head   int64    // list: how many elements to read from the head, in the place of Ends
	Index  []int64  // list: the elements to read beside those, by LINDEX
	Counts []Range  // zset: ranges of scores to count
	Scores []string // zset: the members whose scores to read
}

// Range is a range of scores, both ends included, as ZCOUNT writes it: "-inf", "(5", "7".
type Range struct{ Min, Max string }

// Sample is what one Redis key held at one instant.
type Sample struct {
	Key  string
	Type string          // "none" where the key does not exist, or holds another type than was fetched
	TTL  time.Duration   // model.Forever: the key never expires; 0 with Type "none"
	At   limiter.Instant // when it was taken, where it is one of several looks; else 0

	Text     string             // string: its first bytes
	Length   int64              // elements of a hash, set, zset, list or stream; bytes of a string
	Fields   map[string]string  // hash: of the fields that were fetched, those that exist
	Whole    bool               // hash: Fields holds every field
	First    []Element          // zset: lowest scores; list: head
	Last     []Element          // zset: highest scores, ascending; list: tail
	Index    map[int64]string   // list: the elements that were fetched by index
	Counts   []int64            // zset: as many as Fetch.Counts
	Scores   map[string]float64 // zset: of the members that were fetched, those that exist
	Entry    map[string]string  // stream: the fields of the last entry
	EntryID  string             // stream: the id of the last entry
	Mismatch bool               // the key exists with another type
}

// Element is a member of a sorted set with its score, or an element of a list.
type Element struct {
	Member string
	Score  float64
}

// Exists says whether the key was there with the type that was fetched.
func (s *Sample) Exists() bool { return s.Type != "none" && s.Type != "" }

// Expiry returns the instant at which the key expires, 0 where it never does.
func (s *Sample) Expiry(now limiter.Instant) limiter.Instant {
	if s.TTL <= 0 {
		return 0
	}
	return now.Add(s.TTL)
}

// Pending is a Fetch whose commands are in a pipeline.
type Pending struct {
	fetch Fetch
	ttl   *redis.DurationCmd
	reads []func(s *Sample) error // of the other commands, in their order
}

// then adds what is done with the answer of a command. A nil answer of Redis leaves the sample as it is.
func then[T any](w *Pending, c interface{ Result() (T, error) }, take func(s *Sample, v T)) {
	w.reads = append(w.reads, func(s *Sample) error {
		v, err := c.Result()
		if err == nil {
			take(s, v)
		}
		if err == redis.Nil {
			return nil
		}
		return err
	})
}

// Ask adds the commands of f to a pipeline.
func Ask(ctx context.Context, p redis.Pipeliner, f Fetch) *Pending {
	w := &Pending{fetch: f, ttl: p.PTTL(ctx, f.Key)}
	length := func(c *redis.IntCmd) { then(w, c, func(s *Sample, n int64) { s.Length = n }) }
	switch f.Type {
	case "string":
		most := cmp.Or(f.Bytes, LongestNumber)
		then(w, p.GetRange(ctx, f.Key, 0, most-1), func(s *Sample, text string) { s.Text, s.Length = text, int64(len(text)) })
	case "hash":
		w.askHash(ctx, p, f)
		length(p.HLen(ctx, f.Key))
	case "zset":
		length(p.ZCard(ctx, f.Key))
		if f.Ends > 0 {
			then(w, p.ZRangeWithScores(ctx, f.Key, 0, f.Ends-1), func(s *Sample, got []redis.Z) { s.First = members(got) })
			then(w, p.ZRangeWithScores(ctx, f.Key, -f.Ends, -1), func(s *Sample, got []redis.Z) { s.Last = members(got) })
		}
		for _, r := range f.Counts {
			then(w, p.ZCount(ctx, f.Key, r.Min, r.Max), func(s *Sample, n int64) { s.Counts = append(s.Counts, n) })
		}
		for _, m := range f.Scores {
			then(w, p.ZScore(ctx, f.Key, m), func(s *Sample, v float64) { collect.Put(&s.Scores, m, v) })
		}
	case "set":
		length(p.SCard(ctx, f.Key))
	case "list":
		length(p.LLen(ctx, f.Key))
		if most := cmp.Or(f.Head, f.Ends); most > 0 {
			then(w, p.LRange(ctx, f.Key, 0, most-1), func(s *Sample, got []string) { s.First = elements(got) })
		}
		if f.Head == 0 && f.Ends > 0 {
			then(w, p.LRange(ctx, f.Key, -f.Ends, -1), func(s *Sample, got []string) { s.Last = elements(got) })
		}
		for _, i := range f.Index {
			then(w, p.LIndex(ctx, f.Key, i), func(s *Sample, v string) { collect.Put(&s.Index, i, v) })
		}
	case "stream":
		length(p.XLen(ctx, f.Key))
		then(w, p.XRevRangeN(ctx, f.Key, "+", "-", 1), func(s *Sample, entries []redis.XMessage) {
			for _, e := range entries {
				s.EntryID = e.ID
				for k, v := range e.Values {
					if text, ok := v.(string); ok {
						collect.Put(&s.Entry, k, text)
					}
				}
			}
		})
	}
	return w
}

// askHash adds the commands for the fields that are fetched by name, and for those that are fetched whatever
// their names.
func (w *Pending) askHash(ctx context.Context, p redis.Pipeliner, f Fetch) {
	w.reads = append(w.reads, func(s *Sample) error {
		s.Fields = make(map[string]string)
		return nil
	})
	if len(f.Fields) > 0 {
		then(w, p.HMGet(ctx, f.Key, f.Fields...), func(s *Sample, values []any) {
			for i, v := range values[:min(len(values), len(f.Fields))] {
				if text, ok := v.(string); ok {
					s.Fields[f.Fields[i]] = text
				}
			}
		})
	}
	if f.Pairs > 0 {
		scan := p.HScan(ctx, f.Key, 0, "", f.Pairs)
		w.reads = append(w.reads, func(s *Sample) error {
			pairs, cursor, err := scan.Result()
			for pair := range slices.Chunk(pairs, 2) {
				s.Fields[pair[0]] = pair[len(pair)-1]
			}
			s.Whole = cursor == 0
			return err
		})
	}
}

// Sample reads the answers. The error is that of the first command that failed; a key of
// another type is no error but a Mismatch.
func (w *Pending) Sample() (Sample, error) {
	s := Sample{Key: w.fetch.Key, Type: w.fetch.Type}
	ttl, err := w.ttl.Result()
	if err != nil {
		return s, err
	}
	switch {
	case ttl == -2 || ttl == 0: // go-redis returns -2 and -1 as nanoseconds; 0 is gone within this millisecond
		s.Type = "none"
		return s, nil
	case ttl < 0:
		s.TTL = model.Forever
	default:
		s.TTL = ttl
	}
	for _, read := range w.reads {
		if err := read(&s); err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return Sample{Key: s.Key, Type: "none", Mismatch: true}, nil
		} else if err != nil {
			return s, err
		}
	}
	if s.Type == "string" && s.Text == "" && s.TTL > 0 && s.TTL <= expiresMeanwhile {
		return Sample{Key: s.Key, Type: "none"}, nil
	}
	return s, nil
}

// expiresMeanwhile is the longest time to live of a key that may expire after the PTTL of a reading
// and before the command that reads its value, both of one pipeline.
const expiresMeanwhile = 10 * time.Millisecond

func members(got []redis.Z) []Element {
	return collect.Map(got, func(z redis.Z) Element {
		member, _ := z.Member.(string)
		return Element{member, z.Score}
	})
}

func elements(got []string) []Element {
	return collect.Map(got, func(v string) Element { return Element{Member: v} })
}
