package state_test

import (
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// table is a list with its selection, ten seconds after the start of a feed.
type table struct {
	*state.List
	*state.Selection
	boards *state.Boards
	feed   *tuitest.Feed
	at     time.Time
	picked int // how often a person selected another key
}

func newTable(t *testing.T) *table {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	x := &table{boards: state.NewBoards(nil, false), feed: tuitest.NewFeed(start), at: start}
	redraw := func() {}
	x.List = state.NewList(x.boards, redraw)
	x.Selection = state.NewSelection(x.List, func() { x.picked++ }, nil)
	x.pass(50)
	return x
}

// pass lets so many batches arrive.
func (x *table) pass(batches int) {
	for range batches {
		x.at = x.at.Add(tuitest.Refresh)
		x.boards.Apply(x.feed.Advance(x.at))
		x.boards.Tick(x.at)
		x.Resort()
	}
}

// names are the keys of the rows.
func (x *table) names() []string {
	var list []string
	for _, k := range x.Rows {
		list = append(list, k.Reading.Key)
	}
	return list
}

func TestRowsStandInTheOrderOfTheirStates(t *testing.T) {
	x := newTable(t)
	var states []model.KeyState
	for _, k := range x.Rows {
		states = append(states, k.State(x.boards.At()))
	}
	if len(states) != len(x.feed.People) || !slices.IsSorted(states) {
		t.Errorf("the states of the rows are %v", states)
	}
}

func TestRowsStandStillUnderTheHand(t *testing.T) {
	x := newTable(t)
	x.Touch(true)
	x.SetSort(model.ByName)
	was := x.names()
	x.NextSort() // asked for: at once
	x.Touch(true)
	asked := x.names()
	x.pass(5) // one second
	if got := x.names(); !slices.Equal(got, asked) {
		t.Errorf("a second after a key press the rows moved from %v to %v", asked, got)
	}
	slices.Sort(was)
	slices.Sort(asked)
	if !slices.Equal(was, asked) {
		t.Errorf("another order shows other keys: %v and %v", was, asked)
	}
}

func TestASelectionStaysOnItsKey(t *testing.T) {
	x := newTable(t)
	last := x.names()[len(x.names())-1]
	x.Pick(last)
	x.Reverse()
	x.pass(50)
	if x.Selected != last || !x.Picked || x.Current() == nil || x.picked != 1 {
		t.Errorf("selected %q, and %q is (%d times picked)", last, x.Selected, x.picked)
	}
	x.SetFilter("state:silent nothing-fits")
	if len(x.Rows) != 0 || x.Selected != last {
		t.Errorf("a filter that nothing fits leaves %d rows and selects %q", len(x.Rows), x.Selected)
	}
	if x.SetFilter(""); x.Selected != last {
		t.Errorf("without the filter %q is selected, and %q was", x.Selected, last)
	}
	other := x.names()[1]
	x.SetFilter(other)
	if x.SetFilter(""); x.Selected != other || x.Index() != 1 {
		t.Errorf("the key that the filter found is %q, and %q is selected in row %d", other, x.Selected, x.Index())
	}
}

// TestTheSelectionLeavesAKeyAtEase: until a person chooses, the selection leaves a key that is at
// ease for a while for one that is denied; moving the mouse chooses nothing.
func TestTheSelectionLeavesAKeyAtEase(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		x := newTable(t)
		was := x.Selected
		other := slices.IndexFunc(x.feed.People, func(p tuitest.Personality) bool { return p.How == limiter.SlidingLog && p.Name != was })
		full := x.feed.People[other].Name
		x.Touch(chosen)
		for range 50 { // ten seconds, three of which nothing moves under the hand, without a request at the selected key
			x.at = x.at.Add(tuitest.Refresh)
			b := x.feed.Advance(x.at)
			for i := range b.Readings {
				switch r := &b.Readings[i]; r.Key {
				case was:
					r.State, r.Arrivals = limiter.State{Algorithm: r.State.Algorithm}, nil
				case full:
					r.State.Log = []limiter.Entry{{At: b.At.Add(-time.Second), Count: r.Target.Limit.Count}}
				}
			}
			x.boards.Apply(b)
			x.boards.Tick(x.at)
			x.Resort()
		}
		if x.Rows[0].State(x.boards.At()) != model.Throttled {
			t.Fatal("no other key is denied")
		}
		if got := x.Selected; (got == was) != chosen {
			t.Errorf("a person chose: %v; %q was selected and is at ease, and %q is", chosen, was, got)
		}
	}
}

func TestAKeyThatWentAwayIsSaidOnce(t *testing.T) {
	x := newTable(t)
	first := x.names()[0]
	x.Pick(first)
	b := x.feed.Advance(x.at.Add(tuitest.Refresh))
	b.Readings = slices.DeleteFunc(b.Readings, func(r model.Reading) bool { return r.Key == first })
	var other model.Board // as another server has it
	other.Apply(b)
	x.boards.Apply(other.Anew(b.At))
	x.Resort()
	if lost := x.TakeLost(); lost != first {
		t.Errorf("%q went away, and %q is said to have", first, lost)
	}
	if again := x.TakeLost(); again != "" {
		t.Errorf("it is said twice that %q went away", again)
	}
}

// TestSickKeysAreFound: state:sick lists what has a fault, whatever its band, and the board
// counts as many.
func TestSickKeysAreFound(t *testing.T) {
	x := newTable(t)
	first := x.names()[0]
	b := x.feed.Advance(x.at.Add(tuitest.Refresh))
	want := 0
	for i := range b.Readings {
		r := &b.Readings[i]
		if r.Key == first {
			r.Notes = append(slices.Clone(r.Notes), model.NoExpiry)
		}
		if r.Fault() != "" {
			want++
		}
	}
	x.boards.Apply(b)
	x.Resort()
	x.SetFilter("state:sick")
	if got := x.names(); len(got) != want || !slices.Contains(got, first) {
		t.Errorf("%d keys are sick, state:sick lists %q", want, got)
	}
	if got := x.boards.Board().Totals().Sick; got != want {
		t.Errorf("%d keys are sick, the board counts %d", want, got)
	}
}
