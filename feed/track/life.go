package track

import (
	"math"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// New returns a tracker of the limiter of that name that has no decoder yet. always says
// that the absence of recorded denials means that nothing was denied; p is what is known
// from before, or nil.
func New(name string, r *config.Rule, always bool, p *Past) *Tracker {
	l := &Tracker{Name: name, typ: "none", rule: r, past: p}
	l.denied = denials{key: layout.DeniedKey(name), always: always}
	return l
}

// Probe makes the tracker wait for whatever comes under its name, because a person named it.
func (l *Tracker) Probe() {
	l.Named = true
	l.decoder = &probeDecoder{key: l.Name}
	l.settle(limiter.Unknown, layout.Layout{}, 0)
}

// Await says that what the key will hold is known, even while it holds nothing.
func (l *Tracker) Await() { l.Named, l.certain = true, true }

// Meet takes note of a find of the tracker's own name. It returns false when the find has
// to take its place.
func (l *Tracker) Meet(f decode.Found) bool {
	switch {
	case f.Denied:
		l.denied.skip = 0
		return true
	case f.Blocked:
		l.block.key = f.Key
		return true
	}
	if b, ok := l.decoder.(*counterDecoder); ok && f.Kind == decode.Counter && b.own == f.Own {
		b.meet(f.Start)
		return true
	}
	// The name is taken by something that lives.
	return l.silent == 0 && l.kind != decode.None && l.kind != f.Kind || l.kind == f.Kind
}

// Succeed makes l, which is new, the tracker of what f found in the place of was.
func (l *Tracker) Succeed(was *Tracker, f decode.Found) {
	l.Named, l.past = was.Named, was.past
	l.since = was.since
	l.denied = was.denied
	l.Attach(f)
	if was.kind != decode.None || was.since == 0 {
		return
	}
	switch b := l.decoder.(type) { // it was not there then, so all that is there is new
	case *counterDecoder:
		b.values = make(map[limiter.Instant]int64)
		b.watched = was.since
	case *singleDecoder:
		b.known = true
	case *valueDecoder:
		b.known = true
		b.last.Algorithm = l.target.Algorithm
	}
}

// fate is what is to become of a tracker.
type fate uint8

const (
	fateLives   fate = iota
	FateGone         // its key left the server
	FateChanged      // its key holds another type: find out anew
)

// Fate says what is to become of the tracker. One that was asked for by name never ends: it
// waits for whatever comes under it.
func (l *Tracker) Fate(now limiter.Instant) fate {
	switch {
	case l.gone(now):
		return FateGone
	case l.changed && !l.Named:
		return FateChanged
	case l.changed || l.Named && !l.certain && l.kind != decode.None && l.silent != 0 && now.Sub(l.silent) > 2*max(l.target.Window, time.Second):
		l.kind, l.wrong, l.changed = decode.None, "", false
		l.note(model.WrongType, false)
		l.decoder = &probeDecoder{key: l.Name}
		l.settle(limiter.Unknown, layout.Layout{}, l.target.Window)
	}
	return fateLives
}

// Resync makes the tracker read its last window anew, because what it knows may be wrong.
func (l *Tracker) Resync() {
	if b, ok := l.decoder.(interface{ resync() }); ok {
		b.resync()
	}
}

// Scattered says that the parts of the limiter have slots of their own in a cluster:
// others' counters have one for every window.
func (l *Tracker) Scattered() bool {
	b, ok := l.decoder.(*counterDecoder)
	return ok && b.own == limiter.Unknown
}

// Hit returns what a tracker that waited for its name has found, nil when it has not.
func (l *Tracker) Hit() *decode.Found {
	if p, ok := l.decoder.(*probeDecoder); ok {
		return p.hit
	}
	return nil
}

// Stream returns the key of the stream that the tracker follows and the id of the last entry
// read; ok is false where it follows none.
func (l *Tracker) Stream() (key, last string, ok bool) {
	b, ok := l.decoder.(*streamDecoder)
	if !ok || !b.tail.known {
		return "", "", false
	}
	return b.key, b.tail.last.String(), true
}

// Pressing says that the key is busy or near its limit.
func (l *Tracker) Pressing() bool { return l.arrived > 0 || l.near }

// Lasts returns for how long the key will be there unless it is written to, as far as is known.
func (l *Tracker) Lasts() time.Duration {
	if l.typ == "none" || l.ttl < 0 || l.ttl == model.Forever {
		return math.MaxInt64
	}
	return l.ttl
}

// Rate returns how many units a second come, smoothed over about a second.
func (l *Tracker) Rate() float64 { return l.rate }

// Refused reports whether this user may not read the key, as the latest answer says.
func (l *Tracker) Refused() bool { return l.refused }

// Near says that the key is near its limit or over it.
func (l *Tracker) Near() bool { return l.near }

// Class is a class of keyspace notifications, by the letter of notify-keyspace-events.
type Class byte

// The classes of the types in which limiters live.
const (
	Strings    Class = '$'
	Hashes     Class = 'h'
	SortedSets Class = 'z'
	Streams    Class = 't'
)

// Keys returns the Redis keys whose changes are news of the limiter, the most telling
// first, and the class of the notifications about them; none where that is not known yet.
func (l *Tracker) Keys(now limiter.Instant) ([]string, Class) {
	switch b := l.decoder.(type) {
	case *logDecoder:
		return []string{b.key}, SortedSets
	case *streamDecoder:
		return []string{b.key}, Streams
	case *singleDecoder:
		return []string{b.key}, Strings
	case *valueDecoder:
		if b.field != "" {
			return []string{b.key}, Hashes
		}
		return []string{b.key}, Strings
	case *counterDecoder:
		if b.window <= 0 {
			return nil, 0
		}
		start := now.Floor(b.window)
		return []string{b.name(l, start), b.name(l, start.Add(b.window))}, Strings
	}
	return nil, 0
}

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

// lay gives the decoder of a tracker the entries that the server no longer holds.
func (p *Past) lay(l *Tracker) {
	switch b := l.decoder.(type) {
	case *logDecoder:
		b.record.remember(l.target.Window, p.Log)
	case *streamDecoder:
		b.record.remember(l.target.Window, p.Log)
	case *counterDecoder:
		b.values = map[limiter.Instant]int64{p.From: p.Previous}
		b.watched = p.From
	}
	l.denied.record.remember(l.target.Window, p.Denied)
}
