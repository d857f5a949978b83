package form

import (
	"fmt"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// WindowCounter is the layout of libraries that count each window in a string of its own, whose
// Name holds the index of the window: how many windows fit between 1970 and its start. The key
// outlives its window, which is over all the same. Some weigh the window before, too.
type WindowCounter struct {
	Name    func(index int64) string
	Window  time.Duration
	Sliding bool // the window before counts as far as the sliding window covers it
	Charged bool // denied requests are counted, too
	Limit   int64
	From    model.LimitFrom

	Typ   string // "string" where it is ""; "set": its members are what is counted
	index int64  // of the window that was fetched last
}

// EndsWithIndex returns the names <base><separator><index>.
func EndsWithIndex(base string) func(int64) string {
	return func(index int64) string { return fmt.Sprintf("%s%d", base, index) }
}

// Fetch reads the counters of the current window and of the one before.
func (w *WindowCounter) Fetch(now limiter.Instant) []decode.Fetch {
	typ := w.Typ
	if typ == "" {
		typ = "string"
	}
	w.index = int64(now) / w.Window.Microseconds()
	return []decode.Fetch{{Key: w.Name(w.index), Type: typ}, {Key: w.Name(w.index - 1), Type: typ}}
}

// Decode counts the window that was fetched.
func (w *WindowCounter) Decode(_ limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := decode.Decoded{Charged: w.Charged, Hides: w.Typ == "set", Members: Members(got), Type: "none", PreviousKnown: w.Sliding || got[1].Exists()}
	d.Algorithm, d.Window = limiter.FixedWindow, w.Window
	if w.Sliding {
		d.Algorithm = limiter.SlidingWindow
	}
	d.Limit.Count, d.LimitFrom = w.Limit, w.From
	d.State.Start = limiter.Instant(w.index * w.Window.Microseconds())
	d.State.PreviousStart = d.State.Start.Add(-w.Window)
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
			*n, ok = Count(s.Text)
		}
		if !ok {
			d.Err = NoCount
		}
	}
	return d
}

// Match returns the match of a counter, whose row has the name without the index.
func (w *WindowCounter) Match(name, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Name: name, Prefix: prefix, Why: why, Limiter: w}
	m.Algorithm, m.Window = limiter.FixedWindow, w.Window
	if w.Sliding {
		m.Algorithm = limiter.SlidingWindow
	}
	m.Limit.Count, m.LimitFrom = w.Limit, w.From
	return m
}

// AroundNow are the instants between which a relation between a sample and its expiry is looked
// for: the clock of a sample is an estimate.
var AroundNow = [...]time.Duration{0, Latency, -Latency}

// WindowUntil returns the window with an index whose key was given the expiry of one second after
// its end, in whole seconds of the writer's clock: W(index+1) is the second before that of the
// expiry. No other number of seconds but W divides so, which makes it evidence under any name.
func WindowUntil(index int64, s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	if index <= 0 || s.TTL <= 0 {
		return 0, false
	}
	for _, slack := range [...]time.Duration{0, Latency, -Latency, WholeSecond, -WholeSecond} { // the clock is the client's
		end := int64(s.Expiry(now).Add(slack))/1e6 - 1
		w := time.Duration(end/(index+1)) * time.Second
		if end%(index+1) == 0 && w >= time.Second && w <= limiter.MaxWindow && s.TTL <= w+2*time.Second {
			return w, true
		}
	}
	return 0, false
}

// WindowWith returns the window of which the instant at, give or take the latency, lies in the one
// with that index: the only whole number of seconds that fits, or a usual one; ok is false where
// there is none.
func WindowWith(index int64, at limiter.Instant) (w time.Duration, ok bool) {
	for _, slack := range AroundNow {
		t := at.Add(slack)
		w, usual, fits := windowOf(index, t, time.Second)
		if fits && (usual || !isWindow(index, t, w-time.Second) && !isWindow(index, t, w+time.Second)) {
			return w, true
		}
	}
	return 0, false
}
