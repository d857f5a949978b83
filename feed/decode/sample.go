package decode

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

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
	Type string        // "none" where the key does not exist, or holds another type than was fetched
	TTL  time.Duration // model.Forever: the key never expires; 0 with Type "none"

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
	fetch  Fetch
	ttl    *redis.DurationCmd
	text   *redis.StringCmd
	length *redis.IntCmd
	fields *redis.SliceCmd
	pairs  *redis.ScanCmd
	first  redis.Cmder
	last   redis.Cmder
	index  []*redis.StringCmd
	counts []*redis.IntCmd
	scores []*redis.FloatCmd
	entry  *redis.XMessageSliceCmd
}

// Ask adds the commands of f to a pipeline.
func Ask(ctx context.Context, p redis.Pipeliner, f Fetch) *Pending {
	w := &Pending{fetch: f, ttl: p.PTTL(ctx, f.Key)}
	switch f.Type {
	case "string":
		most := f.Bytes
		if most == 0 {
			most = LongestNumber
		}
		w.text = p.GetRange(ctx, f.Key, 0, most-1)
	case "hash":
		if len(f.Fields) > 0 {
			w.fields = p.HMGet(ctx, f.Key, f.Fields...)
		}
		if f.Pairs > 0 {
			w.pairs = p.HScan(ctx, f.Key, 0, "", f.Pairs)
		}
		w.length = p.HLen(ctx, f.Key)
	case "zset":
		w.length = p.ZCard(ctx, f.Key)
		if f.Ends > 0 {
			w.first = p.ZRangeWithScores(ctx, f.Key, 0, f.Ends-1)
			w.last = p.ZRangeWithScores(ctx, f.Key, -f.Ends, -1)
		}
		for _, r := range f.Counts {
			w.counts = append(w.counts, p.ZCount(ctx, f.Key, r.Min, r.Max))
		}
		for _, m := range f.Scores {
			w.scores = append(w.scores, p.ZScore(ctx, f.Key, m))
		}
	case "set":
		w.length = p.SCard(ctx, f.Key)
	case "list":
		w.length = p.LLen(ctx, f.Key)
		if f.Head > 0 {
			w.first = p.LRange(ctx, f.Key, 0, f.Head-1)
		} else if f.Ends > 0 {
			w.first = p.LRange(ctx, f.Key, 0, f.Ends-1)
			w.last = p.LRange(ctx, f.Key, -f.Ends, -1)
		}
		for _, i := range f.Index {
			w.index = append(w.index, p.LIndex(ctx, f.Key, i))
		}
	case "stream":
		w.length = p.XLen(ctx, f.Key)
		w.entry = p.XRevRangeN(ctx, f.Key, "+", "-", 1)
	}
	return w
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
	if err := w.read(&s); err != nil {
		if strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return Sample{Key: s.Key, Type: "none", Mismatch: true}, nil
		}
		return s, err
	}
	if s.Type == "string" && s.Text == "" && s.TTL > 0 && s.TTL <= expiresMeanwhile {
		return Sample{Key: s.Key, Type: "none"}, nil
	}
	return s, nil
}

// expiresMeanwhile is the longest time to live of a key that may expire after the PTTL of a reading
// and before the command that reads its value, both of one pipeline.
const expiresMeanwhile = 10 * time.Millisecond

func (w *Pending) read(s *Sample) (err error) {
	if w.length != nil {
		if s.Length, err = w.length.Result(); err != nil {
			return err
		}
	}
	switch s.Type {
	case "string":
		if s.Text, err = w.text.Result(); err != nil {
			return err
		}
		s.Length = int64(len(s.Text))
	case "hash":
		if err := w.readHash(s); err != nil {
			return err
		}
	case "stream":
		entries, err := w.entry.Result()
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			s.EntryID, s.Entry = entries[0].ID, texts(entries[0].Values)
		}
	}
	if s.First, err = elements(w.first); err != nil {
		return err
	}
	if s.Last, err = elements(w.last); err != nil {
		return err
	}
	for i, c := range w.index {
		v, err := c.Result()
		if err == redis.Nil {
			continue
		}
		if err != nil {
			return err
		}
		if s.Index == nil {
			s.Index = make(map[int64]string, len(w.index))
		}
		s.Index[w.fetch.Index[i]] = v
	}
	for _, c := range w.counts {
		n, err := c.Result()
		if err != nil {
			return err
		}
		s.Counts = append(s.Counts, n)
	}
	for i, c := range w.scores {
		v, err := c.Result()
		if err == redis.Nil {
			continue
		}
		if err != nil {
			return err
		}
		if s.Scores == nil {
			s.Scores = make(map[string]float64, len(w.scores))
		}
		s.Scores[w.fetch.Scores[i]] = v
	}
	return nil
}

// readHash reads the fields that were fetched by name, and those that were fetched whatever
// their names.
func (w *Pending) readHash(s *Sample) error {
	s.Fields = make(map[string]string)
	if w.fields != nil {
		values, err := w.fields.Result()
		if err != nil {
			return err
		}
		for i, v := range values {
			if text, ok := v.(string); ok && i < len(w.fetch.Fields) {
				s.Fields[w.fetch.Fields[i]] = text
			}
		}
	}
	if w.pairs == nil {
		return nil
	}
	pairs, cursor, err := w.pairs.Result()
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Fields[pairs[i]] = pairs[i+1]
	}
	s.Whole = cursor == 0
	return nil
}

func texts(values map[string]any) map[string]string {
	out := make(map[string]string, len(values))
	for k, v := range values {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	return out
}

func elements(c redis.Cmder) ([]Element, error) {
	switch c := c.(type) {
	case *redis.ZSliceCmd:
		got, err := c.Result()
		if err != nil {
			return nil, err
		}
		out := make([]Element, len(got))
		for i, z := range got {
			member, _ := z.Member.(string)
			out[i] = Element{member, z.Score}
		}
		return out, nil
	case *redis.StringSliceCmd:
		got, err := c.Result()
		if err != nil {
			return nil, err
		}
		out := make([]Element, len(got))
		for i, v := range got {
			out[i] = Element{Member: v}
		}
		return out, nil
	}
	return nil, nil
}
