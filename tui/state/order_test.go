package state_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestARowMovesOnlyWithItsBand watches the table of a busy server for a minute: the order of
// two rows changes only where one of them has another state than before, or both are throttled and
// stand in the order of their waits.
func TestARowMovesOnlyWithItsBand(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{}, tuitest.Mixed()...)
	s.Run(10 * time.Second)
	bands := func() map[string]model.KeyState {
		m := map[string]model.KeyState{}
		for _, k := range s.Session.Rows.Rows {
			m[k.Reading.Key] = k.State(s.Session.Shown.At())
		}
		return m
	}
	before, was, changes := names(s), bands(), 0
	for range 60 {
		s.Run(time.Second)
		after, is := names(s), bands()
		kept := func(list []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(key string) bool { return was[key] != is[key] || is[key] == model.Throttled })
		}
		if x, y := kept(before), kept(after); !slices.Equal(x, y) {
			t.Fatalf("rows that kept their state changed places: %v became %v", x, y)
		}
		changes += len(after) - len(kept(after))
		before, was = after, is
	}
	if changes == 0 {
		t.Error("no row changed its band in a minute: the traffic proves nothing")
	}
	t.Logf("%d changes of a band among %d rows", changes, len(before))
}

func names(s *tuitest.Stage) (list []string) {
	for _, k := range s.Session.Rows.Rows {
		list = append(list, k.Reading.Key)
	}
	return list
}

// TestNothingMovesUnderTheHand selects a key and presses keys while all states change: the selected row
// keeps its place, unless throttled keys need it or it is throttled itself, and all others stand in the order of their
// states at each moment.
func TestNothingMovesUnderTheHand(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{}, tuitest.Mixed()...)
	s.Run(10 * time.Second)
	kept, stood := 0, 0
	for turn := range 600 {
		if turn%200 == 0 {
			s.Press("home")
			for range 8 + turn/40 {
				s.Press("j")
			}
		}
		was := slices.Index(names(s), s.Session.Selection.Selected)
		s.Press("]")
		s.Run(tuitest.Refresh / 2)
		list := s.Session.Rows.Rows
		at := slices.IndexFunc(list, func(k *model.Watched) bool { return k.Reading.Key == s.Session.Selection.Selected })
		rest := slices.Delete(slices.Clone(list), at, at+1)
		least := slices.IndexFunc(rest, func(k *model.Watched) bool { return k.State(s.Session.Shown.At()) != model.Throttled })
		if !slices.IsSortedFunc(rest, func(x, y *model.Watched) int { return model.ByState(x, y, s.Session.Shown.At()) }) {
			t.Fatalf("another row than the selected %s is not in the order of the states: %v", s.Session.Selection.Selected, names(s))
		}
		switch is := list[at].State(s.Session.Shown.At()); {
		case is == model.Throttled && at > least:
			t.Fatalf("%s is throttled and stands below a key that is not: %v", s.Session.Selection.Selected, names(s))
		case is != model.Throttled && at != max(was, least):
			t.Fatalf("%s was in row %d under the hand, and is in row %d below %d that are throttled", s.Session.Selection.Selected, was, at, least)
		case is != model.Throttled:
			if kept++; !slices.IsSortedFunc(list, func(x, y *model.Watched) int { return model.ByState(x, y, s.Session.Shown.At()) }) {
				stood++
			}
		}
	}
	if kept == 0 || stood == 0 {
		t.Errorf("the selected row was kept %d times, %d of them where it does not belong: the test proves nothing", kept, stood)
	}
	s.Run(30 * time.Second)
	if !slices.IsSortedFunc(s.Session.Rows.Rows, func(x, y *model.Watched) int { return model.ByState(x, y, s.Session.Shown.At()) }) {
		t.Error("the selected row stands where it does not belong for ever")
	}
}

func TestTheFilterRanks(t *testing.T) {
	people := tuitest.Calm()[:1]
	for _, name := range []string{"scrape:ip:1", "web-api:bob", "api:search:bob", "API:UPPER", "rapid:fire", "notes:expired"} {
		p := tuitest.Calm()[1]
		p.Name = name
		people = append(people, p)
	}
	people[0].Name = "login"
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			switch r := &b.Readings[i]; r.Key {
			case "login":
				r.Notes = []model.Note{model.NoExpiry}
			case "API:UPPER":
				r.Target.Library = "@upstash/ratelimit"
			}
		}
	}
	s.Run(3 * time.Second)
	for typed, want := range map[string][]string{
		"api":           {"API:UPPER", "api:search:bob", "web-api:bob", "rapid:fire"},
		"sip":           {"scrape:ip:1"},
		"note:expiry":   {"login"},
		"lib:upstash":   {"API:UPPER"},
		"lib:UPSTASH a": {"API:UPPER"},
		"state:denied":  nil,
		"alg:gcra":      nil,
		"bob state:ok":  {"api:search:bob", "web-api:bob"},
		"nothing like":  nil,
	} {
		s.Press("/")
		for _, r := range typed {
			s.Press(strings.ReplaceAll(string(r), " ", "space"))
		}
		got := names(s)
		if typed == "api" {
			got = got[:min(len(got), 4)]
		}
		if typed == "bob state:ok" {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("/%s lists %v, want %v", typed, got, want)
		}
		s.Press("esc")
	}
}

// TestADeniedKeyIsInSight: on a small screen that no person touched, the first rows stay in sight when other
// keys become denied and stand above the selected one, which is at ease.
func TestADeniedKeyIsInSight(t *testing.T) {
	s := tuitest.NewStage(t, 80, 24, tui.Options{}, tuitest.Crowd(24)...)
	s.Run(5 * time.Second)
	was := s.Session.Selection.Selected
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			switch r := &b.Readings[i]; {
			case r.Key == was:
				r.State, r.Arrivals = limiter.State{Algorithm: r.State.Algorithm}, nil
			case r.State.Algorithm == limiter.SlidingLog:
				r.State.Log = []limiter.Entry{{At: b.At.Add(-time.Millisecond), Count: r.Target.Limit.Count}}
			}
		}
	}
	pushed := 0
	for s.Session.Selection.Selected == was {
		s.Run(tuitest.Refresh)
		list := s.Session.Rows.Rows
		at := slices.IndexFunc(list, func(k *model.Watched) bool { return k.Reading.Key == was })
		if at < 4 || list[0].State(s.Session.Shown.At()) != model.Throttled || list[at].State(s.Session.Shown.At()) == model.Throttled {
			continue
		}
		pushed++
		if picture := s.Text(); !strings.Contains(picture, "key 1–") {
			t.Fatalf("%s is denied and out of sight:\n%s", list[0].Reading.Key, picture)
		}
	}
	if pushed == 0 {
		t.Error("the selected key never stood below the first rows: the traffic proves nothing")
	}
}
