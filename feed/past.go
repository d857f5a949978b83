package feed

import (
	"ratescope/limiter"
	"ratescope/model"
)

// past is what is known of a key from before the first reading: the embedded source made
// it. It stands in the first reading in the place of what that reading finds.
type past struct {
	from     limiter.Instant
	arrivals []model.Arrival
	trace    []model.Level
	log      []limiter.Entry // what was charged, for algorithms that keep a log
	denied   []limiter.Entry
	previous int64 // charged in the previous clock-aligned window
}

// open puts the past into the first reading of its key.
func (p *past) open(r *model.Reading) {
	r.Since, r.Arrivals, r.Trace = p.from, p.arrivals, p.trace
}

// lay gives the body of a look the entries that the server no longer holds.
func (p *past) lay(l *look) {
	switch b := l.body.(type) {
	case *logBody:
		b.record.remember(l.target.Window, p.log)
	case *streamBody:
		b.record.remember(l.target.Window, p.log)
	case *counterBody:
		b.values = map[limiter.Instant]int64{p.from: p.previous}
		b.watched = p.from
	}
	l.denied.record.remember(l.target.Window, p.denied)
}
