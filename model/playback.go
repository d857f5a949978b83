package model

import (
	"time"

	"ratescope/limiter"
)

// Playback is where the replay of a recording is.
type Playback struct {
	Begin, End, At limiter.Instant
	Speed          float64
	Paused         bool
	Ended          bool
	Past           bool   // what came before At is still being read: timelines and events are not whole
	CutOff         string // why the recording ends too soon; "" when it was finished
}

// Position and Length are how far the replay is, and how much there is.
func (p Playback) Position() time.Duration { return p.At.Sub(p.Begin) }

// Length is how much there is.
func (p Playback) Length() time.Duration { return p.End.Sub(p.Begin) }
