package model

import (
	"cmp"
	"math"
	"time"

	"ratescope/limiter"
)

// KeyState is how a key stands with its limit at one instant. Header, rows, filter, events, exporter
// and JSON mean the same by each of its words.
type KeyState uint8

// The states, the most urgent first, which is the order of the rows.
const (
	Throttled    KeyState = iota // the next request of cost 1 would be denied
	WasThrottled                 // it would be admitted now, and was denied a moment ago, in the same episode
	NearState                    // NearLimit of the limit or more is used
	UnreadableState
	LikelyOver // only likely a limiter, which would deny by the limit that is given for all
	OKState
	Silent      // no request for two windows
	LikelyState // only likely a limiter
	keyStates
)

var keyStateNames = [keyStates]string{"throttled", "was throttled", "near", "unreadable", "likely over", "ok", "silent", "likely"}

// String returns the state as screens and filters write it.
func (s KeyState) String() string { return keyStateNames[s] }

// KeyStateNames returns the names of all states, in their order.
func KeyStateNames() []string { return keyStateNames[:] }

// silentAfter is the least time without a request after which a key is Silent.
const silentAfter = 10 * time.Second

// State returns the state of a key at an instant, which is that of its gauge.
func (k *Watched) State(at limiter.Instant) KeyState {
	g := &k.Gauge
	switch {
	case g.Likely && g.NextKnown && g.Next != 0:
		return LikelyOver
	case g.Likely:
		return LikelyState
	case k.Reading.Err != "":
		return UnreadableState
	case g.Throttled():
		return Throttled
	case k.episode.pressure == pressureFull && !k.Gone:
		return WasThrottled
	case g.Near():
		return NearState
	case k.Gone, g.Used.Known && g.Used.N == 0 && at.Sub(k.LastHit) > max(2*k.Timeline.Window(), silentAfter):
		return Silent
	}
	return OKState
}

// Frees returns the instant from which a throttled key admits a request again; the last one there is
// if that is never. It does not change while time passes, so that rows in its order stand still.
func (k *Watched) Frees(at limiter.Instant) limiter.Instant {
	if k.Gauge.Next == limiter.Never {
		return math.MaxInt64
	}
	return at.Add(k.Gauge.Next)
}

// ByState orders two keys by urgency: by state and, among the throttled, the longest wait first. It
// returns 0 for keys that are equally urgent.
func ByState(a, b *Watched, at limiter.Instant) int {
	x, y := a.State(at), b.State(at)
	if x != y || x != Throttled {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(b.Frees(at), a.Frees(at))
}
