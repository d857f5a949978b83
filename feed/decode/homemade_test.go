package decode_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// stages are how far a subject has come. A limiter's window of a stage is its limit's; the last one's is
// over.
var stages = []string{"rolled", "idle", "near", "over"}

// subjectOf names the subject of a homemade limiter at a stage, so that no other limiter's key holds it.
func subjectOf(n int, stage string) string { return fmt.Sprintf("m%d%s", n, stage) }

// homemadeTraffic lets every homemade limiter decide about subjects of all stages until the present time of
// a server, and writes its keys to it.
func homemadeTraffic(t *testing.T, all []Homemade, s *servertest.Server) []*World {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { client.Close() })
	var worlds []*World
	for n := range all {
		h := &all[n]
		limit, _ := limiter.ParseLimit(strings.Replace(h.Limit, "month", "31d", 1))
		at := s.Now()
		w := NewWorld(t, h, at.Add(-limit.Window-4*time.Second))
		for i := range 14 {
			w.Request(t, subjectOf(n, "rolled"))
			w.Advance(time.Duration(1+i%2) * 100 * time.Millisecond)
		}
		w.Advance(at.Sub(w.Now) - 1500*time.Millisecond)
		w.Request(t, subjectOf(n, "idle"))
		for i := range 14 {
			if i < 8 && int64(i) < limit.Count-1 {
				w.Request(t, subjectOf(n, "near"))
			}
			w.Request(t, subjectOf(n, "over"))
			w.Advance(100 * time.Millisecond)
		}
		w.Advance(s.Now().Sub(w.Now))
		w.Copy(t, client)
		worlds = append(worlds, w)
	}
	return worlds
}

// judge compares a reading with what the limiter itself says at its instant.
func judge(is, most func() Truth, r *model.Reading) (verdict, why string) {
	if r == nil {
		if is().Remaining == most().Remaining {
			return "right", ""
		}
		return "refused", "no row"
	}
	g := r.Gauge(r.At)
	near := func(a, b time.Duration) bool { return (a - b).Abs() <= 25*time.Millisecond+max(a, b)/200 }
	says := fmt.Sprintf("%s: remaining %+v, next %v (%v), used %+v of %+v; %q %v",
		r.Key, g.Remaining, g.Next, g.NextKnown, g.Used, r.Target.Limit, r.Err, r.Notes)
	switch {
	case r.Err != "" || r.Partial || !g.NextKnown || !g.Remaining.Known && g.BlockedFor == 0:
		return "refused", says
	case r.Target.Evidence == model.Likely:
		return "refused", "likely alone: " + says
	}
	switch is := is(); {
	case is.Remaining != g.Remaining.N, (is.Remaining > 0) != (g.Next == 0), is.Next > 0 && !near(is.Next, g.Next), is.Next < 0 && g.Next > 0 && g.Next < r.Target.Window:
		return "wrong", fmt.Sprintf("%s; the limiter says %+v", says, is)
	}
	return "right", ""
}

// edge is how far the instant of a reading may be from that at which a key of it was read.
const edge = 60 * time.Millisecond

// toldHomemade lets homemade limiters decide, and returns what verdicts their rules earn.
func toldHomemade(
	t *testing.T, all []Homemade, rule func(h *Homemade) map[string]any, peek bool, hidden map[string]bool,
) (count map[string]int) {
	t.Helper()
	s := servertest.Start(t)
	return readHomemade(t, s, homemadeTraffic(t, all, s), rule, peek, hidden)
}

// readHomemade reads what homemade limiters have written to a server by rules, and counts verdicts.
func readHomemade(
	t *testing.T, s *servertest.Server, worlds []*World, rule func(h *Homemade) map[string]any, peek bool, hidden map[string]bool,
) (count map[string]int) {
	t.Helper()
	o := feed.Options{URLs: []string{s.URL()}}
	if peek {
		o.Watch = []string{"nothing"}
	}
	for n, w := range worlds {
		if told := rule(w.limiter); told != nil {
			c, err := config.Parse([]byte(Told(t, told)))
			if err != nil {
				t.Fatalf("%s: %v", w.limiter.Name, err)
			}
			o.Rules = append(o.Rules, c.Rules...)
		}
		for _, stage := range stages {
			if peek {
				o.Keys = append(o.Keys, w.Keys(subjectOf(n, stage))[0])
			}
		}
	}
	batch, got := feedtest.Once(t, o)
	count = map[string]int{}
	for n, w := range worlds {
		most := func() Truth { return w.Truth(t, "stranger", batch.At, 0) }
		for _, stage := range stages {
			who := subjectOf(n, stage)
			var reading *model.Reading
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if r := got[name]; strings.Contains(name, who) {
					if strings.Contains(fmt.Sprint(r.Notes), string(model.WindowNamed)) && reading != nil {
						continue // without its window a rule cannot tell that they are one limiter
					}
					if hidden == nil && reading != nil && r.Type != "none" {
						t.Errorf("%s: two rows, %s and %s", w.limiter.Name, reading.Key, name)
					}
					reading = &r
				}
			}
			if hidden == nil && rule(w.limiter) != nil && reading != nil && reading.Fault() != "" {
				t.Errorf("%s, %s: %s is said not to work: %s", w.limiter.Name, stage, reading.Key, reading.Fault())
			}
			if text := fmt.Sprint(reading); strings.Contains(text, "moves in steps of") && strings.Contains(text, string(model.OverLimit)) {
				t.Errorf("%s, %s: it is over a limit of which nothing is known", w.limiter.Name, stage)
			}
			at, claimed := batch.At, time.Duration(0)
			if reading != nil {
				at = reading.At
				claimed = reading.Gauge(at).Next
			}
			var verdict, why string
			for _, off := range []time.Duration{0, -edge, edge} { // at an edge either side of it is right
				is := func() Truth { return w.Truth(t, who, at.Add(off), claimed) }
				if verdict, why = judge(is, most, reading); verdict != "wrong" {
					break
				}
			}
			count[verdict]++
			if verdict == "wrong" && hidden[w.limiter.Name] {
				count["hidden"]++
				t.Logf("hidden: %s, %s: %s", w.limiter.Name, stage, why)
			} else if verdict == "wrong" {
				t.Errorf("%s, %s: %s", w.limiter.Name, stage, why)
			} else if verdict == "refused" {
				t.Logf("refused: %s, %s: %s", w.limiter.Name, stage, why)
			}
		}
	}
	return count
}

// TestHomemadeToldByName holds what is read by rules with name to what the limiters themselves answer.
func TestHomemadeToldByName(t *testing.T) {
	t.Parallel()
	eachHomemade(t, func(t *testing.T, all []Homemade) {
		t.Parallel()
		all = slices.DeleteFunc(all, func(h Homemade) bool { return h.Rule == nil })
		s := servertest.Start(t)
		worlds := homemadeTraffic(t, all, s)
		for _, peek := range []bool{false, true} {
			count := readHomemade(t, s, worlds, func(h *Homemade) map[string]any { return h.Rule }, peek, nil)
			t.Logf("by name, peek %v: %v", peek, count)
			if n := len(all) * len(stages); count["wrong"] > 0 || count["right"]*100 < 95*n {
				t.Errorf("peek %v: %v of %d", peek, count, n)
			}
		}
	})
}

// TestHomemadeUnits holds that rules which do not say how much one request counts claim nothing false of counters to which it adds
// more than one.
func TestHomemadeUnits(t *testing.T) {
	eachHomemade(t, func(t *testing.T, all []Homemade) {
		all = slices.DeleteFunc(all, func(h Homemade) bool { _, weight := h.Rule["weight"].(int); return !weight })
		for i := range all {
			all[i].Rule = maps.Clone(all[i].Rule)
			delete(all[i].Rule, "weight")
		}
		if len(all) > 0 {
			// Of traffic that the edge of a window has cut too few counts are left to tell their step.
			servertest.Await(t, "a window that has begun", func() bool {
				now := time.Now().UnixMilli() % 20_000
				return now > 3_000 && now < 14_000
			})
			count := toldHomemade(t, all, func(h *Homemade) map[string]any { return h.Rule }, false, nil)
			t.Logf("without their weight: %v", count)
		}
	})
}

// TestHomemadeToldByMatch holds that rules with match claim nothing false about them where one look at their
// keys can tell that they are read wrong. In hidden are those of which it cannot: a count that is not 0 may
// count up or down or in parts of a request, its number may come round, and what ends it may stand in another key.
func TestHomemadeToldByMatch(t *testing.T) {
	t.Parallel()
	hidden := map[string]bool{"a key for each request": true, "debt in an expiry": true, "ban in a sorted set": true,
		"third of a minute": true}
	eachHomemade(t, func(t *testing.T, all []Homemade) {
		t.Parallel()
		count := toldHomemade(t, all, func(h *Homemade) map[string]any { return h.Match }, false, hidden)
		t.Logf("by match: %v", count)
		if count["right"]*9 < 5*len(all) || count["hidden"] > 5 {
			t.Errorf("%v", count)
		}
	})
}
