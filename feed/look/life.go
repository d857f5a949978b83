package look

import (
	"math"
	"time"

	"ratescope/feed/rules"
	"ratescope/feed/shape"
	"ratescope/limiter"
	"ratescope/model"
)

// New returns a look at the limiter of that name that has no body yet. always says
// that the absence of recorded denials means that nothing was denied; p is what is known
// from before, or nil.
func New(name string, r *rules.Rule, always bool, p *Past) *Look {
	l := &Look{Name: name, typ: "none", rule: r, past: p}
	l.denied = denials{key: limiter.DeniedKey(name), always: always}
	return l
}

// Probe makes the look wait for whatever comes under its name, for somebody asked for it.
func (l *Look) Probe() {
	l.Named = true
	l.body = &probeBody{key: l.Name}
	l.settle(limiter.Unknown, limiter.Layout{}, 0)
}

// Await says that what the key will hold is known, even while it holds nothing.
func (l *Look) Await() { l.Named, l.certain = true, true }

// Meet takes note of a find of the look's own name. It returns false when the find has
// to take its place.
func (l *Look) Meet(f shape.Found) bool {
	switch {
	case f.Denied:
		l.denied.skip = 0
		return true
	case f.Blocked:
		l.block.key = f.Key
		return true
	}
	if b, ok := l.body.(*counterBody); ok && f.Kind == shape.Counter && b.own == f.Own {
		b.meet(f.Start)
		return true
	}
	// The name is taken by something that lives.
	return l.silent == 0 && l.kind != shape.None && l.kind != f.Kind || l.kind == f.Kind
}

// Succeed makes l, which is new, the look at what f found in the place of was.
func (l *Look) Succeed(was *Look, f shape.Found) {
	l.Named, l.past = was.Named, was.past
	l.since = was.since
	l.denied = was.denied
	l.Dress(f)
	if was.kind != shape.None || was.since == 0 {
		return
	}
	switch b := l.body.(type) { // it was not there then, so all that is there is new
	case *counterBody:
		b.values = make(map[limiter.Instant]int64)
		b.watched = was.since
	case *singleBody:
		b.known = true
	case *valueBody:
		b.known = true
		b.last.Algorithm = l.target.Algorithm
	}
}

// fate is what is to become of a look.
type fate uint8

const (
	fateLives   fate = iota
	FateGone         // its key left the server
	FateChanged      // its key holds another type: find out anew
)

// Fate says what is to become of the look. One that was asked for by name never ends: it
// waits for whatever comes under it.
func (l *Look) Fate(now limiter.Instant) fate {
	switch {
	case l.gone(now):
		return FateGone
	case l.changed && !l.Named:
		return FateChanged
	case l.changed || l.Named && !l.certain && l.kind != shape.None && l.silent != 0 && now.Sub(l.silent) > 2*max(l.target.Window, time.Second):
		l.kind, l.wrong, l.changed = shape.None, "", false
		l.note(model.WrongType, false)
		l.body = &probeBody{key: l.Name}
		l.settle(limiter.Unknown, limiter.Layout{}, l.target.Window)
	}
	return fateLives
}

// Resync makes the look read its last window anew, because what it knows may be wrong.
func (l *Look) Resync() {
	if b, ok := l.body.(interface{ resync() }); ok {
		b.resync()
	}
}

// Scattered says that the parts of the limiter have slots of their own in a cluster:
// others' counters have one for every window.
func (l *Look) Scattered() bool {
	b, ok := l.body.(*counterBody)
	return ok && b.own == limiter.Unknown
}

// Hit returns what a look that waited for its name has found, nil when it has not.
func (l *Look) Hit() *shape.Found {
	if p, ok := l.body.(*probeBody); ok {
		return p.hit
	}
	return nil
}

// Stream returns the key of the stream that the look follows and the id of the last entry
// read; ok is false where it follows none.
func (l *Look) Stream() (key, last string, ok bool) {
	b, ok := l.body.(*streamBody)
	if !ok || !b.tail.known {
		return "", "", false
	}
	return b.key, b.tail.last.String(), true
}

// Pressing says that the key is busy or near its limit.
func (l *Look) Pressing() bool { return l.heat > 0 || l.near }

// Lasts is for how long the key will be there if nobody writes to it, as far as is known.
func (l *Look) Lasts() time.Duration {
	if l.typ == "none" || l.ttl < 0 || l.ttl == model.Forever {
		return math.MaxInt64
	}
	return l.ttl
}

// Rate is how many units a second come, smoothed over about a second.
func (l *Look) Rate() float64 { return l.rate }

// Near says that the key is near its limit or over it.
func (l *Look) Near() bool { return l.near }

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
func (l *Look) Keys(now limiter.Instant) ([]string, Class) {
	switch b := l.body.(type) {
	case *logBody:
		return []string{b.key}, SortedSets
	case *streamBody:
		return []string{b.key}, Streams
	case *singleBody:
		return []string{b.key}, Strings
	case *valueBody:
		if b.field != "" {
			return []string{b.key}, Hashes
		}
		return []string{b.key}, Strings
	case *counterBody:
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
