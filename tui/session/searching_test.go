package session_test

import (
	"strings"
	"testing"

	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// TestPaintSearchHasTheWholeSentence: what is wrong with a server, and the remedy at its end, is said in
// full in the room of a screen without a key, however narrow that is.
func TestPaintSearchHasTheWholeSentence(t *testing.T) {
	const sentence = "what listens at redis://10.255.255.1:6379 is not a Redis, for it sends a value of type 'H': check the address"
	b := &model.Board{Server: model.Server{Link: model.Connecting, Err: sentence}}
	for width := 30; width < 140; width += 7 {
		c := &widget.Canvas{}
		c.SetTheme(themes.Sixteen(true), false)
		c.Buffer.Resize(width, 8)
		c.Begin()
		session.PaintSearch(c, cell.Rect{W: width, H: 8}, b)
		if got := strings.Join(strings.Fields(c.Buffer.Plain()), " "); got != sentence {
			t.Errorf("%d columns say %q", width, got)
		}
	}
}
