package model

import (
	"cmp"
	"math"
	"slices"

	"ratescope/limiter"
)

// Totals are sums over all watched keys.
type Totals struct {
	Keys      int
	Throttled int // keys in the state Throttled
	Eased     int // keys in the state WasThrottled
	Near      int // keys in the state NearState
	Broken    int // keys that cannot be read
	Sick      int // keys with a Fault, including Broken; the others are also counted by their state
	Unknown   int // keys whose limit or used units are not known
	Likely    int // keys that are only likely to be limiters; otherwise counted only in Keys
	Admitted  float64
	Denied    float64
	// DeniedKnown counts the keys whose denials are recorded; Denied sums those only.
	DeniedKnown int
	// Worst is the throttled key that waits longest, or nil.
	Worst *Watched
}

// Totals returns the totals of the latest gauges. They are calculated once for each change.
func (b *Board) Totals() Totals {
	if !b.summed {
		var s sum
		for _, k := range b.keys {
			s.add(k, b.At)
		}
		b.totals, b.summed = s.total(), true
	}
	return b.totals
}

// sum calculates Totals. It adds up rates in millionths, because the sum of fractions would depend on
// their order.
type sum struct {
	Totals
	admitted, denied int64
}

// add adds one key at an instant.
func (s *sum) add(k *Watched, at limiter.Instant) {
	s.Keys++
	state := k.State(at)
	g := &k.Gauge
	if !g.Likely && !k.Gone && k.Reading.Fault() != "" {
		s.Sick++
	}
	switch state {
	case LikelyOver, LikelyState:
		s.Likely++
		return
	case UnreadableState:
		s.Broken++
		return
	case Throttled:
		s.Throttled++
		if s.Worst == nil || cmp.Or(ByState(k, s.Worst, at), cmp.Compare(k.Reading.Key, s.Worst.Reading.Key)) < 0 {
			s.Worst = k
		}
	case WasThrottled:
		s.Eased++
	case NearState:
		s.Near++
	default:
		if !g.Remaining.Known && !g.NextKnown {
			s.Unknown++
		}
	}
	s.admitted += millionths(k.admitted())
	if g.DeniedInW.Known {
		s.DeniedKnown++
		s.denied += millionths(g.DeniedPerSec)
	}
}

// admitted returns the requests a second admitted lately, which is the rate of the key's row. If the limiter
// counts denied requests too, units above the limit are left out. Of a window that is only inferred from
// the expiry the beginning is not known, and a count divided by what is left of it can be ten times
// too high: there it is 0 until the rate of the latest seconds is known.
func (k *Watched) admitted() float64 {
	g, t := &k.Gauge, &k.Reading.Target
	rate, known := g.Pace()
	if !known || !g.RecentKnown && slices.Contains(k.Reading.Notes, WindowInferred) {
		return 0
	}
	if most := Capacity(*t); t.LimitKnown && g.Used.N > most && most >= 0 {
		return rate * float64(most) / float64(g.Used.N)
	}
	return rate
}

// total returns the totals.
func (s *sum) total() Totals {
	s.Admitted, s.Denied = float64(s.admitted)/1e6, float64(s.denied)/1e6
	return s.Totals
}

// millionths converts a rate to millionths. It is clamped, so that hostile values do not overflow.
func millionths(rate float64) int64 { return int64(math.Round(min(max(rate, 0), 1e8) * 1e6)) }
