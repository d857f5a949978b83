package widget

import (
	"testing"
	"time"

	"ratescope/model/safetext"
)

// TestWaiting: a spinner takes one cell at any instant, moves with time, and is ASCII where the rest is.
func TestWaiting(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		c := &Canvas{}
		c.Buffer.ASCII = ascii
		seen := map[string]bool{}
		for _, from := range []time.Time{{}, time.UnixMilli(1_700_000_000_000)} {
			for i := range 50 {
				text := c.Waiting(from.Add(time.Duration(i) * 40 * time.Millisecond))
				if seen[text] = true; safetext.Width(text) != 1 || ascii && text[0] >= 0x80 {
					t.Errorf("%q, ascii %v", text, ascii)
				}
			}
		}
		if len(seen) < 4 {
			t.Errorf("only %d frames, ascii %v", len(seen), ascii)
		}
	}
}
