package hotkeys

import "time"

// Prices of listening, in time of the server: an event is what BenchmarkListening measures
// (2.0 µs a write on Redis 7.0 and on Valkey 9.1, one core), a moment is its three commands
// and their packets.
const (
	eventPrice  = 2 * time.Microsecond
	samplePrice = 40 * time.Microsecond
)

// Bounds of a moment and of the time between the beginnings of two.
const (
	firstSample    = 5 * time.Millisecond // nothing is known yet of how much is written
	shortestSample = time.Millisecond
	period         = 250 * time.Millisecond
	// longestPeriod is how rare moments become while nothing is heard: as long as a server that
	// wakes up is not noticed by this, and one that sleeps is left alone.
	longestPeriod = 3 * time.Second
	// emptySamples in a row are taken at the usual pace: a client that writes now and then
	// is not silent.
	emptySamples = 4
)

// dutyCycle works out how long to listen and how long not to, so that listening takes a share of
// the server's time and no more, however much is written.
type dutyCycle struct {
	share float64 // of the server's time
	rate  float64 // events a second while listening; 0 before the first moment
	quiet int     // moments in a row in which nothing was heard
}

// length returns how long the next moment is to be.
func (p *dutyCycle) length() time.Duration {
	if p.rate == 0 {
		return firstSample
	}
	affordable := p.share * float64(period-samplePrice) / (p.rate * eventPrice.Seconds())
	return time.Duration(min(max(affordable, float64(shortestSample)), float64(period*9/10)))
}

// record takes what a moment brought, and returns what it cost and how long to be silent.
func (p *dutyCycle) record(lasted time.Duration, events int) (cost, silence time.Duration) {
	rate := float64(max(events, 1)) / max(lasted, shortestSample).Seconds()
	if p.rate == 0 || rate > p.rate {
		p.rate = rate // at once: a burst must not be paid for twice
	} else {
		p.rate += (rate - p.rate) / 4
	}
	cost = samplePrice + time.Duration(events)*eventPrice
	return cost, max(p.period(events), time.Duration(float64(cost)/p.share)) - lasted
}

// period returns how long after the beginning of a moment that brought so many events the next may
// begin: the usual time, and twice as long after each moment of a lasting silence.
func (p *dutyCycle) period(events int) time.Duration {
	if events > 0 {
		p.quiet = 0
		return period
	}
	p.quiet = min(p.quiet+1, emptySamples+8)
	return min(period<<max(p.quiet-emptySamples, 0), longestPeriod)
}
