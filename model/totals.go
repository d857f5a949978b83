package model

import (
	"math"
	"slices"
)

// Totals are sums over all watched keys.
type Totals struct {
	Keys      int
	Throttled int // would be denied now
	Near      int // at or above NearLimit and not throttled
	Broken    int // cannot be read
	Sick      int // have a Fault; those that cannot be read are among them, and the others are counted as they stand, too
	Unknown   int // neither denied nor fine: their limit, or what is used of it, is not known
	Likely    int // nothing but their form says that they are limiters; counted nowhere else but in Keys
	Admitted  float64
	Denied    float64
	// DeniedKnown counts the keys whose denials are recorded; Denied sums those only.
	DeniedKnown int
	// Worst is the throttled key that waits longest, or nil.
	Worst *Watched
}

// Totals adds up the gauges as they were last worked out. While they do not change it costs
// nothing.
func (b *Board) Totals() Totals {
	if !b.summed {
		var s sum
		for _, k := range b.keys {
			s.add(k)
		}
		b.totals, b.summed = s.total(), true
	}
	return b.totals
}

// sum is Totals on the way. Rates add up in millionths: fractions would come to another sum in
// another order.
type sum struct {
	Totals
	admitted, denied int64
}

// add takes one key in.
func (s *sum) add(k *Watched) {
	s.Keys++
	g := &k.Gauge
	switch {
	case g.Likely:
		s.Likely++
		return
	case !k.Gone && k.Reading.Fault() != "":
		s.Sick++
	}
	switch {
	case k.Reading.Err != "":
		s.Broken++
		return
	case g.Throttled():
		s.Throttled++
		if s.Worst == nil || wait(k) > wait(s.Worst) ||
			wait(k) == wait(s.Worst) && k.Reading.Key < s.Worst.Reading.Key {
			s.Worst = k
		}
	case g.Near():
		s.Near++
	case !g.Remaining.Known && !g.NextKnown:
		s.Unknown++
	}
	s.admitted += millionths(k.admitted())
	if g.DeniedInW.Known {
		s.DeniedKnown++
		s.denied += millionths(g.DeniedPerSec)
	}
}

// admitted returns how many requests a second were admitted over the last window: where denied ones
// are counted, too, what is used beyond the limit was not. Of a window that is only inferred from
// the expiry the beginning is not known, and a count divided by what is left of it can be ten times
// too high; there it is the rate of the latest seconds, 0 until that is known.
func (k *Watched) admitted() float64 {
	g, t := &k.Gauge, &k.Reading.Target
	if slices.Contains(k.Reading.Notes, WindowInferred) {
		return g.Recent
	}
	if most := Capacity(*t); g.DeniedInW.Known && t.LimitKnown && g.Used.N > most && most >= 0 {
		return g.Rate * float64(most) / float64(g.Used.N)
	}
	return g.Rate
}

// total returns what was added up.
func (s *sum) total() Totals {
	s.Admitted, s.Denied = float64(s.admitted)/1e6, float64(s.denied)/1e6
	return s.Totals
}

// millionths converts a rate; what a hostile store makes of it stays far from overflow.
func millionths(rate float64) int64 { return int64(math.Round(min(max(rate, 0), 1e8) * 1e6)) }
