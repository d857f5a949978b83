package widget

import (
	"time"

	"charm.land/bubbles/v2/spinner"
)

// Waiting returns the frame of a spinner at an instant. The spinner has no ticks of its own: it moves with
// the pictures that come anyway.
func (c *Canvas) Waiting(at time.Time) string {
	s := spinner.MiniDot
	if c.Buffer.ASCII {
		s = spinner.Line
	}
	n := int64(len(s.Frames))
	return s.Frames[(at.UnixMilli()/s.FPS.Milliseconds()%n+n)%n]
}
