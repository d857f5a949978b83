package model_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// script is a source whose keys are logs, for tests that look at what becomes of its
// batches.
type script struct {
	r    *rand.Rand
	now  limiter.Instant
	keys map[string]*scripted
}

type scripted struct {
	window time.Duration
	since  limiter.Instant
	log    []limiter.Entry
}

func newScript(seed uint64, windows ...time.Duration) *script {
	s := &script{r: rand.New(rand.NewPCG(seed, 9)), now: today, keys: map[string]*scripted{}}
	for i, w := range windows {
		s.keys[fmt.Sprint("key", i)] = &scripted{window: w}
	}
	return s
}

// next returns the batch of some time later.
func (s *script) next() model.Batch {
	s.now += limiter.Instant(50_000 + s.r.Int64N(400_000))
	b := model.Batch{
		At: s.now, Local: s.now.Time(), Server: model.Server{Link: model.Live, RTT: time.Duration(s.r.IntN(9)) * time.Millisecond},
		Sweep: model.Sweep{Scanned: int64(s.now)}, Cost: model.Cost{Commands: 3, Server: time.Microsecond, Over: time.Second},
	}
	for _, name := range slices.Sorted(maps.Keys(s.keys)) {
		if s.r.IntN(4) > 0 { // not every key is read in every round
			b.Readings = append(b.Readings, s.read(name, s.keys[name]))
		}
	}
	return b
}

func (s *script) read(name string, k *scripted) model.Reading {
	r := model.Reading{Key: name, Type: "zset", At: s.now, Since: k.since, ExactKnown: true, PreviousKnown: true, Denied: model.Count{Known: true}}
	again := false
	switch s.r.IntN(40) {
	case 0: // the source starts anew with the key and tells all that it finds
		r.Since, again = 0, true
	case 1: // it learns that the window is another
		k.window += time.Duration(1+s.r.IntN(20)) * time.Second
		again = true
	}
	if again {
		for _, e := range k.log {
			r.Arrivals = append(r.Arrivals, model.Arrival{At: e.At, N: e.Count})
		}
	}
	from := s.now - 1
	if k.since != 0 {
		from = k.since
	}
	for at := from; ; {
		if at += 1 + limiter.Instant(s.r.Int64N(200_000)); at > s.now {
			break
		}
		e := limiter.Entry{At: at, Count: 1 + s.r.Int64N(4)}
		k.log = append(k.log, e)
		r.Arrivals = append(r.Arrivals, model.Arrival{At: at, N: e.Count})
		if s.r.IntN(4) == 0 {
			r.Arrivals = append(r.Arrivals, model.Arrival{At: at, N: 2, Denied: true})
		}
	}
	r.Target = model.Target{Algorithm: limiter.SlidingLog, Window: k.window, Limit: limiter.Limit{Count: 50, Window: k.window}, LimitKnown: true}
	r.State = limiter.State{Algorithm: limiter.SlidingLog, Log: slices.Clone(k.log)}
	k.since = s.now
	return r
}

// lines are the columns of a key in its finest bins, as far back as the timeline reaches.
func lines(k *model.Watched, now limiter.Instant) []model.Bin {
	bins := make([]model.Bin, 11*model.BinsPerWindow)
	k.Timeline.Columns(bins, k.Timeline.Column(now, 1), 1)
	return bins
}

// same fails the test where two boards differ.
func same(t *testing.T, what string, got, want *model.Board) {
	t.Helper()
	if got.Len() != want.Len() || got.At != want.At || got.Local != want.Local || got.Sweep.Scanned != want.Sweep.Scanned || !reflect.DeepEqual(got.Server, want.Server) {
		t.Fatalf("%s: %d keys at %d, want %d at %d", what, got.Len(), got.At, want.Len(), want.At)
	}
	for _, w := range want.Select(model.View{Sort: model.ByName}) {
		name := w.Reading.Key
		g := got.Key(name)
		if g == nil {
			t.Fatalf("%s: %s is missing", what, name)
		}
		// Since when everything was watched is lost where a reading after a gap was merged.
		x, y := g.Gauge, w.Gauge
		x.Recent, x.RecentKnown, y.Recent, y.RecentKnown = 0, false, 0, false
		x.DeniedPerSec, y.DeniedPerSec = model.Measure{}, model.Measure{}
		if fmt.Sprint(x) != fmt.Sprint(y) || g.Gone != w.Gone || g.LastHit != w.LastHit || g.Reading.At != w.Reading.At || g.Reading.Target != w.Reading.Target {
			t.Fatalf("%s: %s is %+v, want %+v", what, name, g.Gauge, w.Gauge)
		}
		past, other := lines(g, got.At), lines(w, want.At)
		for i := range past {
			if past[i] != other[i] {
				t.Fatalf("%s: %s differs %d bins ago: %+v, want %+v", what, name, len(past)-1-i, past[i], other[i])
			}
		}
	}
}

// TestMergedBatchesSayTheSame holds that a screen that is behind shows in the end what
// one shows that saw every batch.
func TestMergedBatchesSayTheSame(t *testing.T) {
	for seed := range uint64(25) {
		s := newScript(seed, time.Second, 10*time.Second, time.Minute)
		var behind, prompt model.Board
		for range 25 {
			batches := make([]model.Batch, 1+s.r.IntN(9))
			for i := range batches {
				batches[i] = s.next()
				prompt.Apply(batches[i])
			}
			// A merge is associative: gather in two places and merge those.
			cut := s.r.IntN(len(batches))
			merged := gather(batches[:cut+1])
			if rest := batches[cut+1:]; len(rest) > 0 {
				merged.Merge(gather(rest))
			}
			if want := int64(3 * len(batches)); merged.Cost.Commands != want || merged.Cost.Over != time.Duration(len(batches))*time.Second {
				t.Fatalf("seed %d: %+v was spent, want %d commands", seed, merged.Cost, want)
			}
			behind.Apply(merged)
			same(t, fmt.Sprint("seed ", seed), &behind, &prompt)
		}
	}
}

func gather(batches []model.Batch) model.Batch {
	b := batches[0]
	b.Readings = slices.Clone(b.Readings)
	for _, next := range batches[1:] {
		b.Merge(next)
	}
	return b
}

func TestMergeKeepsWhoLeftAndWhoCameBack(t *testing.T) {
	reading := func(key string) model.Reading {
		return model.Reading{Key: key, At: today, Type: "zset"}
	}
	live := func(gone []string, keys ...string) model.Batch {
		b := model.Batch{At: today, Gone: gone, Server: model.Server{Link: model.Live}}
		for _, k := range keys {
			b.Readings = append(b.Readings, reading(k))
		}
		return b
	}
	for _, tc := range []struct {
		name       string
		batches    []model.Batch
		keys, gone []string
	}{
		{"left", []model.Batch{live(nil, "a", "b"), live([]string{"a"})}, []string{"b"}, []string{"a"}},
		{"left before", []model.Batch{live([]string{"a"}), live(nil, "b")}, []string{"b"}, []string{"a"}},
		{"came back", []model.Batch{live(nil, "a"), live([]string{"a"}), live(nil, "a")}, []string{"a"}, nil},
		{"left twice", []model.Batch{live([]string{"a"}), live([]string{"a"})}, nil, []string{"a"}},
		{"left, came back, left", []model.Batch{live([]string{"a"}), live(nil, "a"), live([]string{"a"})}, nil, []string{"a"}},
		{"two left", []model.Batch{live([]string{"a"}, "b"), live([]string{"b"})}, nil, []string{"a", "b"}},
	} {
		got := gather(tc.batches)
		var keys []string
		for _, r := range got.Readings {
			keys = append(keys, r.Key)
		}
		slices.Sort(got.Gone)
		if !slices.Equal(keys, tc.keys) || !slices.Equal(got.Gone, tc.gone) {
			t.Errorf("%s: read %v, gone %v; want %v, %v", tc.name, keys, got.Gone, tc.keys, tc.gone)
		}
	}
}

// TestWhatWasReadBeforeTheLinkWasLostCounts holds that a merge with the bad news does
// not swallow the last good one.
func TestWhatWasReadBeforeTheLinkWasLostCounts(t *testing.T) {
	s := newScript(1, 10*time.Second)
	var behind, prompt model.Board
	for range 30 {
		good := s.next()
		bad := model.Batch{At: good.At, Local: good.Local, Sweep: good.Sweep, Server: model.Server{Link: model.Down, Err: "It is away."}}
		prompt.Apply(good)
		prompt.Apply(bad)
		good.Merge(bad)
		behind.Apply(good)
		same(t, "after the loss", &behind, &prompt)
	}
}

// TestAStandstillIsBounded merges twenty minutes of a busy key into a batch that is not taken.
func TestAStandstillIsBounded(t *testing.T) {
	const perRefresh = 20
	window := 10 * time.Second
	var all model.Batch
	var board model.Board
	since, at := today, today
	for range 5 * 1200 {
		at = since.Add(200 * time.Millisecond)
		r := model.Reading{Key: "busy", At: at, Since: since, Type: "zset", Target: model.Target{Algorithm: limiter.SlidingLog, Window: window}}
		for i := range perRefresh {
			r.Arrivals = append(r.Arrivals, model.Arrival{At: since.Add(time.Duration(i+1) * 9 * time.Millisecond), N: 1, Denied: i%4 == 0})
		}
		all.Merge(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
		since = at
	}
	if n := len(all.Readings[0].Arrivals); n > 15_000 {
		t.Errorf("%d arrivals gathered", n)
	}
	if n := len(all.Readings[0].Trace); n > 1000 {
		t.Errorf("%d levels gathered", n)
	}
	board.Apply(all)
	cols := make([]model.Bin, 11)
	tl := board.Key("busy").Timeline
	tl.Columns(cols, tl.Column(at, model.BinsPerWindow)-1, model.BinsPerWindow)
	for i, c := range cols[1:] { // the oldest may be cut by the reach
		if c.Admitted != 15*50 || c.Denied != 5*50 {
			t.Errorf("window %d holds %d admitted and %d denied, want 750 and 250", i, c.Admitted, c.Denied)
		}
	}
}
