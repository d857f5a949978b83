package model

import (
	"time"

	"ratescope/limiter"
)

// RecentSpan is the time that Gauge.Recent covers.
const RecentSpan = 10 * time.Second

// recent counts the units that came in each of the latest seconds of the server's clock.
// The zero value knows nothing yet.
type recent struct {
	since  limiter.Instant // from here on everything that came is counted; 0 unknown
	second int64           // the newest that units[second%len] counts
	units  [RecentSpan/time.Second + 1]int64
}

// watch notes that everything that came since the reading before r is counted. Of a first
// reading that is its own instant; where later ones were merged into it, its Trace has that.
func (c *recent) watch(r *Reading) {
	since := r.Since
	if since == 0 {
		if since = r.At; len(r.Trace) > 0 {
			since = r.Trace[0].At
		}
	}
	if c.since == 0 || since > limiter.Instant(c.second+1)*1e6 { // a gap that is longer than a second
		c.since = since
	}
	c.advance(r.At)
}

// advance clears the seconds between the newest one and that of at.
func (c *recent) advance(at limiter.Instant) {
	second := int64(at) / 1e6
	if second < c.second-1 { // the clock was set back
		*c = recent{since: at, second: second}
		return
	}
	for s := max(c.second+1, second-int64(len(c.units))+1); s <= second; s++ {
		c.units[s%int64(len(c.units))] = 0
	}
	c.second = max(c.second, second)
}

// add counts units that came at an instant.
func (c *recent) add(at limiter.Instant, n int64) {
	second := int64(at) / 1e6
	if second > c.second {
		c.advance(at)
	}
	if second >= 0 && c.second-second < int64(len(c.units)) {
		c.units[second%int64(len(c.units))] += n
	}
}

// rate returns the units a second over RecentSpan before now, or since it was watched where
// that is shorter. It is not known for less than two seconds.
func (c *recent) rate(now limiter.Instant) (perSecond float64, known bool) {
	if c.since == 0 {
		return 0, false
	}
	span := min(now.Sub(c.since), RecentSpan)
	if span < 2*time.Second {
		return 0, false
	}
	var n int64
	newest := int64(now) / 1e6
	for s := max(newest-int64(len(c.units))+2, 0); s <= min(newest, c.second); s++ {
		if c.second-s < int64(len(c.units)) {
			n += c.units[s%int64(len(c.units))]
		}
	}
	return float64(n) / span.Seconds(), true
}
