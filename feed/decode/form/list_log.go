package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// ListLog is a sliding log in a list: the instants of the requests in seconds of the clients'
// clock, newest first, an element for each unit, and never more of them than the limit.
type ListLog struct {
	Key     string
	Edge    limiter.Edge
	Window  time.Duration
	charged bool
	Limit   int64
	From    model.LimitFrom
	// WindowOf returns the window by the expiry and the newest element; nil: window holds.
	WindowOf func(s *decode.Sample, now limiter.Instant) (time.Duration, bool)
	search   listSearch // of a list that is not read whole
}

// listElements is how many elements a list may have that is read whole.
const listElements = 2000

// Fetch reads the list, or, of a long one, its newest elements and some of the others.
func (l *ListLog) Fetch(limiter.Instant) []decode.Fetch { return l.search.fetch(l.Key) }

// Decode returns the elements as a log.
func (l *ListLog) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: Members(got), Charged: l.charged}
	d.Algorithm, d.Convention.Edge, d.Window = limiter.SlidingLog, l.Edge, l.Window
	d.Limit.Count, d.LimitFrom = l.Limit, l.From
	d.State.Log = []limiter.Entry{}
	if !s.Exists() {
		l.search = listSearch{}
		return d
	}
	if l.WindowOf != nil {
		if w, ok := l.WindowOf(s, now); ok {
			l.Window = w
		}
		d.Window = l.Window
	}
	from := now.Add(-d.Window)
	log, whole, more, ok := l.search.take(s, now, func(at limiter.Instant) bool {
		return at > from || at == from && l.Edge == limiter.EdgeClosed
	})
	if !ok {
		d.Err = "holds a list with an element that is no time, so that it is no log of a rate limiter: correct its rule, or remove the key"
		return d
	}
	d.State.Log, d.Partial, d.More, d.Approximate = log, !whole, more, s.Length > int64(len(s.First))
	return d
}
