package look

import (
	"ratescope/limiter"
	"ratescope/model"
)

// Past is what is known of a key from before the first reading: the embedded source made
// it. It stands in the first reading in the place of what that reading finds.
type Past struct {
	From     limiter.Instant
	Arrivals []model.Arrival
	Trace    []model.Level
	Log      []limiter.Entry // what was charged, for algorithms that keep a log
	Denied   []limiter.Entry
	Previous int64 // charged in the previous clock-aligned window
}

// open puts the past into the first reading of its key.
func (p *Past) open(r *model.Reading) {
	r.Since, r.Arrivals, r.Trace = p.From, p.Arrivals, p.Trace
}

// lay gives the body of a look the entries that the server no longer holds.
func (p *Past) lay(l *Look) {
	switch b := l.body.(type) {
	case *logBody:
		b.record.remember(l.target.Window, p.Log)
	case *streamBody:
		b.record.remember(l.target.Window, p.Log)
	case *counterBody:
		b.values = map[limiter.Instant]int64{p.From: p.Previous}
		b.watched = p.From
	}
	l.denied.record.remember(l.target.Window, p.Denied)
}
