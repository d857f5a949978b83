package lab

import (
	"math/rand/v2"
	"slices"

	"ratescope/limiter"
)

// poisson makes independent arrivals a mean gap apart. Its time is a float so that gaps
// below a microsecond do not pile up at one instant.
type poisson struct {
	random  *rand.Rand
	at, gap float64 // microseconds
	cost    int64
}

func (p *poisson) Next() (Arrival, bool) {
	p.at += p.random.ExpFloat64() * p.gap
	return Arrival{At: limiter.Instant(p.at), Cost: p.cost}, true
}

// steady makes one arrival every gap.
type steady struct {
	at, gap float64
	cost    int64
}

func (s *steady) Next() (Arrival, bool) {
	a := Arrival{At: limiter.Instant(s.at), Cost: s.cost}
	s.at += s.gap
	return a, true
}

// onOff runs a Poisson stream on a clock that stands still while it is off.
type onOff struct {
	*poisson
	from, on, period limiter.Instant
}

func (o *onOff) Next() (Arrival, bool) {
	a, ok := o.poisson.Next()
	a.At = o.from + a.At/o.on*o.period + a.At%o.on
	return a, ok
}

// bursts makes n arrivals in each period.
type bursts struct {
	random     *rand.Rand
	at, period limiter.Instant
	n          int
	spread     float64
	cost       int64
	batch      []limiter.Instant // what is left of the present burst
}

func (b *bursts) Next() (Arrival, bool) {
	if b.n == 0 {
		return Arrival{}, false
	}
	if len(b.batch) == 0 {
		for range b.n {
			b.batch = append(b.batch, b.at+limiter.Instant(b.random.Float64()*b.spread))
		}
		slices.Sort(b.batch)
		b.at += b.period
	}
	a := Arrival{At: b.batch[0], Cost: b.cost}
	b.batch = b.batch[1:]
	return a, true
}

// adversary aims at what window counters forget. It sends a burst in the last moment of a
// window and another in the last moment of the next one, when the first has almost no
// weight left though it is still less than a window old; then it lets two windows pass.
type adversary struct {
	edge, window, lead limiter.Instant
	n, left            int
	second             bool
	cost               int64
}

func newAdversary(t Traffic, s Setup, from limiter.Instant, cost int64) *adversary {
	a := &adversary{window: window(s), n: t.Burst, cost: cost, lead: max(micros(t.SpreadMS), 1)}
	if a.n == 0 {
		a.n = int(min(s.Limit.Count, 1_000_000))
	}
	a.lead = min(a.lead, max(a.window/4, 1))
	a.edge = from - from%a.window + a.window
	a.left = a.n
	return a
}

func (a *adversary) Next() (Arrival, bool) {
	if a.n == 0 {
		return Arrival{}, false
	}
	if a.left == 0 {
		if a.second {
			a.edge += 3 * a.window
		}
		a.second, a.left = !a.second, a.n
	}
	a.left--
	at := a.edge - a.lead
	if a.second { // one lead before the first burst turns a window old
		at += a.window - a.lead
	}
	return Arrival{At: at, Cost: a.cost}, true
}
