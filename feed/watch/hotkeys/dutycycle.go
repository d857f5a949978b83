package hotkeys

import "time"

// Prices of listening, as server time. eventPrice is what BenchmarkListening measures (2.0 µs
// a write on Redis 7.0 and on Valkey 9.1, one core); samplePrice is for the three commands of
// a sample and their packets.
const (
	eventPrice  = 2 * time.Microsecond
	samplePrice = 40 * time.Microsecond
)

// Bounds of the length of a sample, and of the period from the start of one to the next.
const (
	firstSample    = 5 * time.Millisecond // before the rate of writes is known
	shortestSample = time.Millisecond
	period         = 250 * time.Millisecond
	// longestPeriod is the period that a lasting silence leads to: short enough to notice soon
	// when writes begin, and long enough to leave an idle server alone.
	longestPeriod = 3 * time.Second
	// emptySamples is how many consecutive samples without a write keep the usual period, since
	// a client may write only now and then.
	emptySamples = 4
)

// dutyCycle calculates how long to listen and how long to pause, so that listening stays within
// a share of the server's time however much is written.
type dutyCycle struct {
	share float64 // share of the server's time
	rate  float64 // events a second while listening; 0 before the first sample
	quiet int     // consecutive samples without an event
}

// length returns the length of the next sample.
func (d *dutyCycle) length() time.Duration {
	if d.rate == 0 {
		return firstSample
	}
	affordable := d.share * float64(period-samplePrice) / (d.rate * eventPrice.Seconds())
	return time.Duration(min(max(affordable, float64(shortestSample)), float64(period*9/10)))
}

// record takes the length and the events of a sample, and returns its cost as server time and
// how long to pause before the next.
func (d *dutyCycle) record(lasted time.Duration, events int) (cost, silence time.Duration) {
	rate := float64(max(events, 1)) / max(lasted, shortestSample).Seconds()
	if d.rate == 0 || rate > d.rate {
		d.rate = rate // at once, so that a burst exceeds the share in one sample only
	} else {
		d.rate += (rate - d.rate) / 4
	}
	cost = samplePrice + time.Duration(events)*eventPrice
	return cost, max(d.period(events), time.Duration(float64(cost)/d.share)) - lasted
}

// period returns the time from the start of a sample with so many events to the next: the usual
// period, which doubles with every sample of a lasting silence.
func (d *dutyCycle) period(events int) time.Duration {
	if events > 0 {
		d.quiet = 0
		return period
	}
	d.quiet = min(d.quiet+1, emptySamples+8)
	return min(period<<max(d.quiet-emptySamples, 0), longestPeriod)
}
