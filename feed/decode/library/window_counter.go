package library

import (
	"fmt"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// windowCounter is the layout of libraries that count each window in a string of its own, whose
// name holds the index of the window: how many windows fit between 1970 and its start. The key
// outlives its window, which is over all the same. Some weigh the window before, too.
type windowCounter struct {
	name    func(index int64) string
	window  time.Duration
	sliding bool // the window before counts as far as the sliding window covers it
	charged bool // denied requests are counted, too
	limit   int64
	from    model.LimitFrom

	typ   string // "string" where it is ""; "set": its members are what is counted
	index int64  // of the window that was fetched last
}

// endsWithIndex returns the names <base><separator><index>.
func endsWithIndex(base string) func(int64) string {
	return func(index int64) string { return fmt.Sprintf("%s%d", base, index) }
}

// Fetch reads the counters of the current window and of the one before.
func (w *windowCounter) Fetch(now limiter.Instant) []decode.Fetch {
	typ := w.typ
	if typ == "" {
		typ = "string"
	}
	w.index = int64(now) / w.window.Microseconds()
	return []decode.Fetch{{Key: w.name(w.index), Type: typ}, {Key: w.name(w.index - 1), Type: typ}}
}

// Decode counts the window that was fetched.
func (w *windowCounter) Decode(_ limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := decode.Decoded{Charged: w.charged, Hides: w.typ == "set", Members: members(got), Type: "none", PreviousKnown: w.sliding || got[1].Exists()}
	d.Algorithm, d.Window = limiter.FixedWindow, w.window
	if w.sliding {
		d.Algorithm = limiter.SlidingWindow
	}
	d.Limit.Count, d.LimitFrom = w.limit, w.from
	d.State.Start = limiter.Instant(w.index * w.window.Microseconds())
	d.State.PreviousStart = d.State.Start.Add(-w.window)
	for i, n := range [...]*int64{&d.State.Current, &d.State.Previous} {
		s := &got[i]
		if !s.Exists() {
			continue
		}
		if d.Type == "none" {
			d.Type, d.TTL = s.Type, s.TTL
		}
		ok := true
		if *n = s.Length; s.Type == "string" {
			*n, ok = count(s.Text)
		}
		if !ok {
			d.Err = noCount
		}
	}
	return d
}

// match returns the match of a counter, whose row has the name without the index.
func (w *windowCounter) match(name, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Name: name, Prefix: prefix, Why: why, Limiter: w}
	m.Algorithm, m.Window = limiter.FixedWindow, w.window
	if w.sliding {
		m.Algorithm = limiter.SlidingWindow
	}
	m.Limit.Count, m.LimitFrom = w.limit, w.from
	return m
}

// aroundNow are the instants between which a relation between a sample and its expiry is looked
// for: the clock of a sample is an estimate.
var aroundNow = [...]time.Duration{0, latency, -latency}

// windowUntil returns the window with an index whose key was given the expiry of one second after
// its end, in whole seconds of the writer's clock: W(index+1) is the second before that of the
// expiry. No other number of seconds but W divides so, which makes it evidence under any name.
func windowUntil(index int64, s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	if index <= 0 || s.TTL <= 0 {
		return 0, false
	}
	for _, slack := range [...]time.Duration{0, latency, -latency, wholeSecond, -wholeSecond} { // the clock is the client's
		end := int64(s.Expiry(now).Add(slack))/1e6 - 1
		w := time.Duration(end/(index+1)) * time.Second
		if end%(index+1) == 0 && w >= time.Second && w <= limiter.MaxWindow && s.TTL <= w+2*time.Second {
			return w, true
		}
	}
	return 0, false
}

// windowWith returns the window of which the instant at, give or take the latency, lies in the one
// with that index: the only whole number of seconds that fits, or a usual one; ok is false where
// there is none.
func windowWith(index int64, at limiter.Instant) (w time.Duration, ok bool) {
	for _, slack := range aroundNow {
		t := at.Add(slack)
		w, usual, fits := windowOf(index, t, time.Second)
		if fits && (usual || !isWindow(index, t, w-time.Second) && !isWindow(index, t, w+time.Second)) {
			return w, true
		}
	}
	return 0, false
}
