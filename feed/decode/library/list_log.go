package library

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// listLog is a sliding log in a list: the instants of the requests in seconds of the clients'
// clock, newest first, an element for each unit, and never more of them than the limit.
type listLog struct {
	key     string
	edge    limiter.Edge
	window  time.Duration
	charged bool
	limit   int64
	from    model.LimitFrom
	// windowOf returns the window by the expiry and the newest element; nil: window holds.
	windowOf func(s *decode.Sample, now limiter.Instant) (time.Duration, bool)
}

// listElements is how many elements of a list are read at most. A longer one is told as such: what
// is used is then known to be as much at least.
const listElements = 2000

// Fetch reads the newest elements.
func (l *listLog) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: l.key, Type: "list", Head: listElements}}
}

// Decode returns the elements as a log.
func (l *listLog) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: members(got), Charged: l.charged}
	d.Algorithm, d.Convention.Edge, d.Window = limiter.SlidingLog, l.edge, l.window
	d.Limit.Count, d.LimitFrom = l.limit, l.from
	d.State.Log = []limiter.Entry{}
	if !s.Exists() {
		return d
	}
	if l.windowOf != nil {
		if w, ok := l.windowOf(s, now); ok {
			l.window = w
		}
		d.Window = l.window
	}
	seconds := make([]float64, 0, len(s.First))
	for _, e := range s.First {
		v, ok := number(e.Member)
		if !ok {
			d.Err = "holds a list with an element that is no time, so that it is no log of a rate limiter: correct its rule, or remove the key"
			return d
		}
		seconds = append(seconds, v)
	}
	d.State.Log = logOf(seconds, now)
	if log := d.State.Log; len(log) > 0 && int64(len(s.First)) < s.Length {
		d.Partial = now.Sub(log[0].At) < d.Window
	}
	return d
}

// logOf returns the log of instants in seconds, newest first. What a client's clock has ahead of
// the server's is taken as now.
func logOf(newestFirst []float64, now limiter.Instant) []limiter.Entry {
	log := make([]limiter.Entry, 0, len(newestFirst))
	for i := len(newestFirst) - 1; i >= 0; i-- {
		at := now
		if v := newestFirst[i]; v < float64(now)/1e6 {
			at = decode.InstantIn(max(v, 0), time.Second)
		}
		if n := len(log); n > 0 && at <= log[n-1].At { // clocks of several clients
			log[n-1].Count++
			continue
		}
		log = append(log, limiter.Entry{At: at, Count: 1})
	}
	return log
}
