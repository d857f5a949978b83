package track

import (
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// scriptedStream answers a tracker's commands about one stream, on virtual time and without a
// server. Its entries count 2 units each, and carry running totals where totals is set.
type scriptedStream struct {
	t   *testing.T
	now limiter.Instant
	ids []int64 // of the entries, in ms, ascending; a sequence number is the place in the list

	totals bool
	calls  map[string]int // commands about the stream, by name: each xrange is a page
}

// add appends n entries, spread evenly over the time until the stream's now.
func (s *scriptedStream) add(n int, over time.Duration) {
	for i := range n {
		s.ids = append(s.ids, s.now.Add(-over+over*time.Duration(i+1)/time.Duration(n)).Millis())
	}
}

func (s *scriptedStream) id(i int) string {
	return strconv.FormatInt(s.ids[i], 10) + "-" + strconv.Itoa(i+1)
}

func (s *scriptedStream) messages(from, to int) (list []redis.XMessage) {
	for i := from; i < to; i++ {
		values := map[string]any{"count": "2"}
		if s.totals {
			values["total"] = strconv.Itoa(2 * (i + 1))
		}
		list = append(list, redis.XMessage{ID: s.id(i), Values: values})
	}
	return list
}

// answer gives the commands of a pipeline, which is never sent, their values.
func (s *scriptedStream) answer(p redis.Pipeliner) {
	for _, c := range p.Cmds() {
		args := c.Args()
		if !slices.Contains(args, any("hot")) {
			continue // the stream of recorded denials, which is not there
		}
		name := c.Name()
		if slices.Contains(args, any("-")) && name == "xrange" {
			name = "oldest" // not a page, but the first entry alone
		}
		s.calls[name]++
		switch c := c.(type) {
		case *redis.DurationCmd:
			c.SetVal(-1) // no expiry
		case *redis.XMessageSliceCmd:
			most := int(args[5].(int64))
			if c.Name() == "xrevrange" {
				newest := s.messages(max(len(s.ids)-most, 0), len(s.ids))
				slices.Reverse(newest)
				c.SetVal(newest)
				continue
			}
			first := 0
			if args[2] != "-" {
				from, _ := decode.ParseID(args[2].(string))
				first = sort.Search(len(s.ids), func(i int) bool {
					id, _ := decode.ParseID(s.id(i))
					return id == from || id.After(from)
				})
			}
			c.SetVal(s.messages(first, min(first+most, len(s.ids))))
		default:
			s.t.Fatalf("no answer is scripted for %v", args)
		}
	}
}

// look takes one reading, and returns how many pages of entries it took.
func (s *scriptedStream) look(l *Tracker) (r model.Reading, pages int) {
	s.t.Helper()
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	before := s.calls["xrange"]
	for range 100 {
		p := client.Pipeline()
		l.Ask(&Query{Ctx: s.t.Context(), Pipe: p, Now: s.now, Entries: mostEntries})
		s.answer(p)
		r, outcome, err := l.Take(s.now, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		if outcome == Ready {
			return r, s.calls["xrange"] - before
		}
	}
	s.t.Fatal("the tracker asks for ever")
	return r, 0
}

const every = 200 * time.Millisecond // the default refresh

func newScripted(t *testing.T) (*scriptedStream, *Tracker) {
	rule := config.Rule{Match: "hot", Limit: limiter.Limit{Count: 10_000_000, Window: 10 * time.Minute}, LimitKnown: true}
	l := New("hot", &rule, false, nil)
	l.Attach(decode.Found{Key: "hot", Name: "hot", Type: "stream", Kind: decode.Stream})
	return &scriptedStream{t: t, now: noon, calls: map[string]int{}}, l
}

// units is how many units the readings told so far of.
type units int64

func (u *units) tell(r model.Reading) {
	for _, a := range r.Arrivals {
		*u += units(a.N)
	}
}

// TestBusyStreamIsSkimmed: a stream with totals of which more came than pagesBehind pages is told from its newest entry,
// at the price of one look however much comes, and read entry by entry again after quietReadings looks with hardly any.
func TestBusyStreamIsSkimmed(t *testing.T) {
	s, l := newScripted(t)
	s.totals = true
	s.add(1, 0)
	var reported units
	look := func() (model.Reading, int) {
		r, pages := s.look(l)
		reported.tell(r)
		if used, want := r.State.Peek(s.now, r.Target.Limit, r.Target.Convention, 0).Used, int64(2*len(s.ids)); int64(reported) != want || used != want {
			t.Fatalf("%d units told, %d used, and the stream holds %d", reported, used, want)
		}
		return r, pages
	}
	next := func(n int) (model.Reading, int) {
		s.now = s.now.Add(every)
		s.add(n, every)
		return look()
	}
	look()
	for i := range 3 {
		if r, pages := next(3 * pageSize / 2); r.Approximate || pages != 2 {
			t.Fatalf("busy look %d: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
	if r, pages := next(20 * pageSize); !r.Approximate || pages != pagesBehind {
		t.Fatalf("a flood: %d pages, approximate %v", pages, r.Approximate)
	}
	for i := range 20 {
		if r, pages := next(2000 + 1000*i); !r.Approximate || pages != 0 {
			t.Fatalf("skimmed look %d: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
	for i := range quietReadings {
		if _, pages := next(100); pages != 0 {
			t.Fatalf("calm look %d: %d pages", i+1, pages)
		}
	}
	for i := range 20 {
		if r, pages := next(100); pages != 1 || i > 10 && r.Approximate {
			t.Fatalf("look %d when it is calm: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
}

// TestFloodWithoutTotals: of a stream without totals that grows faster than it is read a part is told, as a part, and all
// of it once it grows no more; no look takes more than its pages.
func TestFloodWithoutTotals(t *testing.T) {
	s, l := newScripted(t)
	const flood = 3 * 2 * pagesBehind * historyPage // three times what a look of the history reads
	s.add(2*flood, 2*every)
	var reported units
	look := func() model.Reading {
		r, pages := s.look(l)
		reported.tell(r)
		if held := units(2 * len(s.ids)); pages > 2*pagesBehind || reported > held || !r.Partial && reported != held {
			t.Fatalf("%d pages, %d units told of %d, a part: %v", pages, reported, held, r.Partial)
		}
		return r
	}
	for i := range 20 {
		if r := look(); !r.Partial {
			t.Fatalf("look %d is not of a part", i+1)
		}
		s.now = s.now.Add(every)
		s.add(flood, every)
	}
	for i := 0; look().Partial; i++ {
		if s.now = s.now.Add(every); i > 1000 {
			t.Fatal("it is never read to its end")
		}
	}
}

// TestTotalsThatEnd: where the newest entry of a skimmed stream has no total, what was passed over is read.
func TestTotalsThatEnd(t *testing.T) {
	s, l := newScripted(t)
	s.totals = true
	s.add(1, 0)
	var reported units
	for _, n := range []int{0, 20 * pageSize, 2000} {
		s.now = s.now.Add(every)
		s.add(n, every)
		r, _ := s.look(l)
		reported.tell(r)
	}
	s.totals = false
	s.now = s.now.Add(every)
	s.add(3, every)
	r, pages := s.look(l)
	if reported.tell(r); pages != 1 || reported != units(2*len(s.ids)) {
		t.Errorf("%d pages, %d units told of %d", pages, reported, 2*len(s.ids))
	}
}

// TestAStreamThatIsQuiet: a long stream with totals to which nothing came for most of a window is counted in few looks.
func TestAStreamThatIsQuiet(t *testing.T) {
	s, l := newScripted(t)
	s.totals = true
	s.now = noon.Add(-500 * time.Second)
	s.add(2000, 400*time.Second)
	s.now = noon
	var reported units
	r, _ := s.look(l)
	if reported.tell(r); reported != 4000 {
		t.Errorf("%d units are told, want 4000", reported)
	}
}
