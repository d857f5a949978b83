package form

import (
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Indexed windows: a key for every window, whose name holds the number of the window, counted from
// the epoch. The number of the current window is the clock divided by the window, so that it tells
// the window: of 4 s to a few nanoseconds, of a day to 4 s.

// windowOf returns the window of which the instant at lies in the one with that index. Usual windows
// come first, then those of the fewest digits, down to finest; ok is false where none fits, usual
// false where it is none that people choose.
func windowOf(index int64, at limiter.Instant, finest time.Duration) (w time.Duration, usual, ok bool) {
	if index <= 0 {
		return 0, false, false
	}
	for _, w := range decode.Periods {
		if isWindow(index, at, w) {
			return w, true, true
		}
	}
	for _, unit := range [...]time.Duration{time.Hour, time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		if unit < finest {
			break
		}
		w := (time.Duration(int64(at)/index) * time.Microsecond).Truncate(unit)
		if w <= limiter.MaxWindow && isWindow(index, at, w) {
			return w, false, true
		}
	}
	return 0, false, false
}

// isWindow says whether at lies in the window with that index among those of length w.
func isWindow(index int64, at limiter.Instant, w time.Duration) bool {
	return w > 0 && int64(at)/w.Microseconds() == index
}

// WindowOfIndex returns the window whose current index is index at now, or the next one. A usual one
// goes before another that fits as well.
func WindowOfIndex(index int64, now limiter.Instant) (w time.Duration, usual, ok bool) {
	w, usual, ok = windowOf(index, now, time.Millisecond)
	if usual {
		return w, true, true
	}
	if v, usual, fits := windowOf(index+1, now, time.Millisecond); index > 0 && fits && (usual || !ok) {
		return v, usual, true
	}
	return w, false, ok
}

// Indexed are the counters of a clock-aligned window and of the one before.
type Indexed struct {
	Key    func(index int64) string
	Window time.Duration
	How    decode.Fetch                              // how to read a counter, but for its key
	Count  func(s *decode.Sample) (n int64, ok bool) // 0 of a key that does not exist
}

// TextCounter reads counters that are strings.
var TextCounter = decode.Fetch{Type: "string"}

// TextCount reads a counter that is a string; more may have been given back than was taken.
func TextCount(s *decode.Sample) (int64, bool) {
	if !s.Exists() {
		return 0, true
	}
	n, ok := Signed(s.Text)
	return max(n, 0), ok
}

// Fetch reads the counters of the current window and of the one before.
func (x *Indexed) Fetch(now limiter.Instant) []decode.Fetch {
	index := int64(now) / x.Window.Microseconds()
	current, previous := x.How, x.How
	current.Key, previous.Key = x.Key(index), x.Key(index-1)
	return []decode.Fetch{current, previous}
}

// Decode returns the counts of both windows; got begins with the samples of Fetch.
func (x *Indexed) Decode(now limiter.Instant, got []decode.Sample) decode.Decoded {
	d := decode.Decoded{PreviousKnown: true, Members: Members(got[:2]), Type: "none"}
	d.Window = x.Window
	d.State.Start = now.Floor(x.Window)
	d.State.PreviousStart = d.State.Start.Add(-x.Window)
	for i := 1; i >= 0; i-- {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, got[i].TTL
		}
	}
	var known, knownBefore bool
	d.State.Current, known = x.Count(&got[0])
	d.State.Previous, knownBefore = x.Count(&got[1])
	if !known || !knownBefore {
		d.Err = NoCount
	}
	return d
}

// Suffixed returns keys that are base and an index.
func Suffixed(base string) func(int64) string {
	return func(index int64) string { return base + strconv.FormatInt(index, 10) }
}
