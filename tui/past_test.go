package tui_test

import (
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestThePastThatComesLaterIsDrawn: a replay shows where everything stood before it has read what
// came before, and the lines over the lane are then those of the board that knows more.
func TestThePastThatComesLaterIsDrawn(t *testing.T) {
	feed := tuitest.NewFeed(dawn)
	var little, all model.Board
	now := dawn
	for range 300 {
		now = now.Add(tuitest.Refresh)
		b := feed.Advance(now)
		all.Apply(b)
		little = model.Board{}
		little.Apply(b)
	}
	show := func(boards ...*model.Board) string {
		s := newStage(t, 140, 42, tui.Options{})
		for _, b := range boards {
			s.app.Update(tui.BatchMsg(b.Anew(b.At)))
			s.app.Update(tui.TickMsg(now))
			s.press("/", "m", "e", "t", "r", "i", "c", "s", "enter", "esc") // the cursor stays there
		}
		return s.text()
	}
	if got, want := show(&little, &all), show(&all); got != want {
		t.Errorf("drawn:\n%s\nwant:\n%s", got, want)
	}
}

// TestLeftGoesBackWithoutATimeline: where the rows are too few for a timeline, ← goes back in time all the same, at once, and
// esc leads to now.
func TestLeftGoesBackWithoutATimeline(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}} {
		s := newStage(t, size[0], size[1], tui.Options{})
		s.run(20 * time.Second)
		s.press("left", "left", "left")
		s.see("PAUSED, ", " back")
		if back := s.app.Back(); back < time.Second {
			t.Errorf("at %dx%d three presses of ← go %v back", size[0], size[1], back)
		}
		s.press("esc")
		s.see(" LIVE ")
	}
}
