// Package marker holds the moments of a recording that are worth going back to: those that a person
// marked, and those at which something happened. Lists are sorted by time; nothing here reads a
// clock or a file.
package marker

import (
	"cmp"
	"slices"

	"ratescope/limiter"
)

// Kind says what a Marker is of.
type Kind string

// The kinds.
const (
	Set   Kind = "marker" // a person marked the moment
	Event Kind = "event"  // something happened to a key or to the server
	Fired Kind = "fired"  // the first request of an order that was fired from here
	Alert Kind = "alert"  // an alert of the configuration began or ended
	Audit Kind = "audit"  // a key was changed from here instead of fired at
)

// Marker is a moment of a recording.
type Marker struct {
	At   limiter.Instant // on the server's clock
	Kind Kind
	Key  string // as the recording has it; "" the server, or no key
	Text string // raw, not for a terminal before it is cleaned; may be "" of a Set one

	Seen limiter.Instant // when the recording tells of it, where that is later than At: what happened is known with the next batch
}

// Moment is where a replay stands that shows the marker: not before the recording tells of it.
func (m *Marker) Moment() limiter.Instant { return max(m.At, m.Seen) }

// Sort puts markers in the order of their moments; of the same moment the order stays.
func Sort(list []Marker) {
	slices.SortStableFunc(list, func(x, y Marker) int { return cmp.Compare(x.Moment(), y.Moment()) })
}

// Next returns the first marker of a sorted list whose moment is later than an instant.
func Next(list []Marker, at limiter.Instant) (m Marker, found bool) {
	i := slices.IndexFunc(list, func(m Marker) bool { return m.Moment() > at })
	if i < 0 {
		return Marker{}, false
	}
	return list[i], true
}

// Previous returns the last marker of a sorted list whose moment is earlier than an instant.
func Previous(list []Marker, at limiter.Instant) (m Marker, found bool) {
	i, _ := slices.BinarySearchFunc(list, at, func(m Marker, at limiter.Instant) int { return cmp.Compare(m.Moment(), at) })
	if i == 0 {
		return Marker{}, false
	}
	return list[i-1], true
}

// Find returns the place of the Set marker of a key at an instant; -1 where there is none.
func Find(list []Marker, at limiter.Instant, key string) int {
	return slices.IndexFunc(list, func(m Marker) bool { return m.Kind == Set && m.At == at && m.Key == key })
}
