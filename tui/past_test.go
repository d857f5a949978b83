package tui_test

import (
	"testing"

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
