package model

import (
	"time"

	"ratescope/limiter"
)

// Playback is the state of the replay of a recording.
type Playback struct {
	Begin, End, At limiter.Instant
	Speed          float64
	Paused         bool
	Ended          bool
	Past           bool   // the time before At is still being read, so that timelines and events are incomplete
	CutOff         string // why the recording is incomplete; "" if it was closed
}

// Position returns the time from the beginning of the recording to the present instant of the replay.
func (p Playback) Position() time.Duration { return p.At.Sub(p.Begin) }

// Length returns the length of the recording.
func (p Playback) Length() time.Duration { return p.End.Sub(p.Begin) }
