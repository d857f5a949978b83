package model

import (
	"time"

	"ratescope/limiter"
)

// RecentSpan is the time that Gauge.Recent covers.
const RecentSpan = 10 * time.Second

// recent counts the units that came in each of the latest seconds of the server's clock. The zero
// value is ready.
type recent struct {
	since  limiter.Instant                   // all units since this instant are counted; 0 before the first reading
	second int64                             // the newest second that is counted
	units  [RecentSpan/time.Second + 1]int64 // by second, modulo the length
}

// watch notes that r is complete since the reading before it. A first reading is complete since its
// own instant or, if later readings were merged into it, since the first level of its Trace.
func (c *recent) watch(r *Reading) {
	since := r.Since
	if since == 0 {
		if since = r.At; len(r.Trace) > 0 {
			since = r.Trace[0].At
		}
	}
	if c.since == 0 || since > limiter.Instant(c.second+1)*1e6 { // there is a gap of more than a second
		c.since = since
	}
	c.advance(r.At)
}

// advance makes the second of at the newest one, and clears the seconds before it.
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

// add counts units that came at an instant. Those from before c.since, which a first reading reports
// as the past, are left out, because rate divides by the time since then.
func (c *recent) add(at limiter.Instant, n int64) {
	if at < c.since {
		return
	}
	second := int64(at) / 1e6
	if second > c.second {
		c.advance(at)
	}
	if second >= 0 && c.second-second < int64(len(c.units)) {
		c.units[second%int64(len(c.units))] += n
	}
}

// rate returns the units a second over the RecentSpan before now, or since the first reading if that
// is less. It is not known for less than two seconds.
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
