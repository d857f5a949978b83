package keys

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestTheColumnUnderTheMouse is the one whose slot holds the cell, from the first to the last.
func TestTheColumnUnderTheMouse(t *testing.T) {
	for _, w := range []int{60, 80, 140, 200} {
		widths := fit(w, 20, 0)
		x := 2
		for i, n := range widths {
			for at := x; at < x+n; at++ {
				if got := columnAt(&widths, at); got != columns[i].title {
					t.Errorf("of %d cells the one at %d is of %q, want %q", w, at, got, columns[i].title)
				}
			}
			if n > 0 {
				x += n + 1
			}
		}
	}
}

// TestATipOfALaneEndsWithTheReading: nothing is called not watched for what has not come or was not read yet.
func TestATipOfALaneEndsWithTheReading(t *testing.T) {
	var b model.Board
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	now := limiter.Instant(1_700_000_000_400_000)
	for range 60 {
		since := now
		now = now.Add(time.Second)
		b.Apply(model.Batch{At: now, Local: now.Time(), Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1},
			Readings: []model.Reading{{
				Key: "k", Type: "zset", At: now, Since: since, ExactKnown: true, PreviousKnown: true,
				State:  limiter.State{Algorithm: limiter.SlidingLog},
				Target: model.Target{Algorithm: limiter.SlidingLog, Window: limit.Window, LimitKnown: true, Limit: limit},
			}}})
	}
	var list table
	list.lanes.axis = axisOf(60, now, now)
	for behind := range 2 { // the line of now, and the column that is not over
		if tip := list.laneTip(b.Key("k"), list.lanes.axis.past-behind); strings.Contains(tip, "not watched") {
			t.Errorf("%d cells before now it says %q", behind, tip)
		}
	}
	list.lanes.axis = axisOf(60, now.Add(10*time.Second), now)
	if tip := list.laneTip(b.Key("k"), list.lanes.axis.past-1); !strings.HasSuffix(tip, "not read since.") {
		t.Errorf("ten seconds after the reading it says %q", tip)
	}
}
