package track

import (
	"math"
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
// server. Its entries count 2 units each and carry no totals.
type scriptedStream struct {
	t   *testing.T
	now limiter.Instant
	ids []int64 // of the entries, in ms, ascending; a sequence number is the place in the list

	calls map[string]int // commands about the stream, by name: each xrange is a page
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
		list = append(list, redis.XMessage{ID: s.id(i), Values: map[string]any{"count": "2"}})
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
		case *redis.XInfoStreamCmd:
			c.SetVal(&redis.XInfoStream{Length: int64(len(s.ids)), EntriesAdded: int64(len(s.ids)), LastGeneratedID: s.id(len(s.ids) - 1)})
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

// TestBusyStreamIsSkimmed: a stream without totals of which more than a page came in each of
// busyReadings looks is told from how many entries were added, at the price of one look however
// many they are, and read entry by entry again after calmLooks looks with hardly any.
func TestBusyStreamIsSkimmed(t *testing.T) {
	s, l := newScripted(t)
	s.add(1, 0)
	var reported units
	next := func(n int) (model.Reading, int) {
		s.now = s.now.Add(every)
		s.add(n, every)
		r, pages := s.look(l)
		reported.tell(r)
		return r, pages
	}
	r, _ := s.look(l)
	reported.tell(r)
	if r.Approximate || r.State.Peek(s.now, r.Target.Limit, r.Target.Convention, 0).Used != 2 {
		t.Fatalf("the first reading: %+v", r)
	}
	for i := range busyReadings - 1 { // one fewer than it takes, and a calm one
		if r, pages := next(2000); r.Approximate || pages != 5 {
			t.Fatalf("busy look %d: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
	if r, pages := next(10); r.Approximate || pages != 1 {
		t.Fatalf("a calm look: %d pages, approximate %v", pages, r.Approximate)
	}
	for i := range busyReadings {
		if r, pages := next(2000); r.Approximate || pages != 5 {
			t.Fatalf("busy look %d after a calm one: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
	if n := s.calls["xinfo"]; n != 0 {
		t.Fatalf("%d looks asked how many entries there are, before it was worth it", n)
	}
	for i := range 20 {
		r, pages := next(2000 + 1000*i)
		if !r.Approximate || pages != 0 || s.calls["xinfo"] != i+1 {
			t.Fatalf("skimmed look %d: %d pages, approximate %v, %d XINFO", i+1, pages, r.Approximate, s.calls["xinfo"])
		}
		want := int64(2 * len(s.ids))
		used := r.State.Peek(s.now, r.Target.Limit, r.Target.Convention, 0).Used
		if int64(reported) != want || used != want {
			t.Fatalf("skimmed look %d: %d units told, %d used, and the stream holds %d", i+1, reported, used, want)
		}
	}
	for i := range quietReadings {
		if _, pages := next(100); pages != 0 {
			t.Fatalf("calm look %d: %d pages", i+1, pages)
		}
	}
	asked := s.calls["xinfo"]
	for i := range 20 {
		if r, pages := next(100); pages != 1 || i > 10 && r.Approximate {
			t.Fatalf("look %d when it is calm: %d pages, approximate %v", i+1, pages, r.Approximate)
		}
	}
	if s.calls["xinfo"] != asked {
		t.Error("it is asked how many entries there are although they are read")
	}
	if want := units(2 * len(s.ids)); reported != want {
		t.Errorf("%d units told of %d", reported, want)
	}
}

// TestFloodedFromTheFirstLook: a stream without totals that grows faster than it is read, since
// before the first look. What it held at the first look is its history, and what comes
// later is not: the stream is skimmed and not read further and further behind.
func TestFloodedFromTheFirstLook(t *testing.T) {
	s, l := newScripted(t)
	const flood = 3 * 2 * pagesBehind * historyPage // three times what a look of the history reads
	s.add(2*flood, 2*every)
	var reported units
	skimmed := 0
	for i := range 60 {
		r, pages := s.look(l)
		reported.tell(r)
		if pages > 2*pagesBehind {
			t.Fatalf("look %d took %d pages", i+1, pages)
		}
		if pages == 0 {
			if skimmed++; r.Partial {
				t.Fatalf("look %d is of a part: %q", i+1, r.Notes)
			}
		} else if skimmed > 0 {
			t.Fatalf("look %d reads pages again", i+1)
		}
		s.now = s.now.Add(every)
		s.add(flood, every)
	}
	if skimmed < 30 {
		t.Fatalf("%d of 60 looks skimmed the stream", skimmed)
	}
	// What was passed over before the first look that counts is told from the pace until then.
	held := float64(2 * (len(s.ids) - flood))
	if off := math.Abs(float64(reported)-held) / held; off > 0.01 {
		t.Errorf("%d units told and %.0f held: %.1f %% off", reported, held, 100*off)
	}
}
