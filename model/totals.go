package model

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ratescope/limiter"
)

// Totals are sums over all watched keys.
type Totals struct {
	Keys      int
	Throttled int // keys in the state Throttled
	Eased     int // keys in the state WasThrottled
	Near      int // keys in the state NearState
	Gone      int // keys that left the server, whose past is still there, and that were more than likely limiters
	Broken    int // keys that cannot be read
	Sick      int // keys with a Fault, including Broken; the others are also counted by their state
	Unknown   int // keys whose limit or used units are not known
	Likely    int // keys that are only likely to be limiters; otherwise counted only in Keys
	Above     int // of these, keys in the state LikelyOver
	Admitted  float64
	Denied    float64
	// DeniedKnown counts the keys of which is known how many requests are denied a second, Denied sums those only, and Recorded
	// counts those whose denials are recorded.
	DeniedKnown, Recorded int
	// Paced counts the keys of which is known how many requests are admitted a second, which Admitted sums, and Before those of
	// them whose requests may have come before they were watched.
	Paced, Before int
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

func (s *sum) add(k *Watched, at limiter.Instant) {
	if k.Unborn {
		return
	}
	s.Keys++
	state := k.State(at)
	g := &k.Gauge
	if k.Gone && !g.Likely {
		s.Gone++
		return
	}
	if !g.Likely && k.Reading.Fault() != "" {
		s.Sick++
	}
	switch state {
	case LikelyOver:
		s.Likely++
		s.Above++
		return
	case LikelyState:
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
	if g.Pace().Known {
		s.Paced++
	}
	if g.Used.Known && g.RateKnown && !g.RecentKnown {
		s.Before++
	}
	if k.Reading.Denied.Known {
		s.Recorded++
	}
	if g.DeniedPerSec.Known {
		s.DeniedKnown++
		s.denied += millionths(g.DeniedPerSec.V)
	}
}

// admitted returns the requests a second admitted lately, which is the rate of the key's row. Of a window that is only inferred from
// the expiry the beginning is not known, and a count divided by what is left of it can be ten times
// too high: there it is 0 until the rate of the latest seconds is known.
func (k *Watched) admitted() float64 {
	g := &k.Gauge
	pace := g.Pace()
	if !pace.Known || !g.RecentKnown && slices.Contains(k.Reading.Notes, WindowInferred) {
		return 0
	}
	if g.RecentKnown && g.DeniedInW.Known { // arrivals tell them apart
		return pace.V
	}
	return k.Admitted(pace.V)
}

// Came returns the requests a second, admitted and, where that is known, denied.
func (k *Watched) Came() Measure {
	return Measure{k.Gauge.Pace().Known, k.admitted() + k.Gauge.DeniedPerSec.V}
}

// Admitted returns what of a rate of requests was admitted: units above the limit of a limiter that counts denied requests, too,
// are left out.
func (k *Watched) Admitted(rate float64) float64 {
	t, used := &k.Reading.Target, k.Gauge.Used.N
	if most := Capacity(*t); t.LimitKnown && used > most && most >= 0 {
		return rate * float64(most) / float64(used)
	}
	return rate
}

func (s *sum) total() Totals {
	s.Admitted, s.Denied = float64(s.admitted)/1e6, float64(s.denied)/1e6
	return s.Totals
}

// millionths converts a rate to millionths. It is clamped, so that hostile values do not overflow.
func millionths(rate float64) int64 { return int64(math.Round(min(max(rate, 0), 1e8) * 1e6)) }

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
	case k.Gone:
		return Silent
	case k.Reading.Err != "":
		return UnreadableState
	case g.Throttled():
		return Throttled
	case k.episode.pressure == pressureFull:
		return WasThrottled
	case g.Near():
		return NearState
	case g.Used.Known && g.Used.N == 0 && at.Sub(k.LastHit) > max(2*k.Timeline.Window(), silentAfter):
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

// RecentSpan is the time that Gauge.Recent covers.
const RecentSpan = 10 * time.Second

// spellPause is how long after the latest denial a spell goes on, and the least time over which its rate is taken.
const spellPause = 2 * time.Second

// spell holds denials without a pause, of which earlier ones weigh less.
type spell struct {
	since, last limiter.Instant
	units       float64 // as they weigh at last
}

func weight(age time.Duration) float64 { return math.Exp(-age.Seconds() / (2 * spellPause).Seconds()) }

// add adds units that were denied since an instant. They begin a spell if a pause was before that.
func (s *spell) add(from limiter.Instant, a Arrival) {
	half := a.At.Sub(max(from, s.last)) / 2
	if from.Sub(s.last) > spellPause || half < 0 {
		*s = spell{since: a.At.Add(-half)}
	}
	s.units = s.units*weight(a.At.Sub(s.last)) + float64(a.N)*weight(half)
	s.last = a.At
}

// rate returns the units a second in the latest seconds.
func (s *spell) rate(now limiter.Instant) float64 {
	quiet := now.Sub(s.last)
	if quiet <= spellPause {
		quiet, now = 0, s.last
	} else if quiet > RecentSpan {
		return 0
	}
	span := 2 * spellPause.Seconds() * (1 - weight(max(now.Sub(s.since), spellPause)))
	return s.units * weight(quiet) / span
}

// recent counts the units that came in each of the latest seconds of the server's clock. The zero
// value is ready.
type recent struct {
	since  limiter.Instant                   // all units since this instant are counted; 0 before the first reading
	second int64                             // the newest second that is counted
	units  [RecentSpan/time.Second + 1]int64 // by second, modulo the length
}

// watch notes that r is complete since an instant; 0 is for a first reading, and one after the server was away. Such a reading is
// complete since its own instant or, if later readings were merged into it, since the first level of its Trace.
func (c *recent) watch(since limiter.Instant, r *Reading) {
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
	for s := max(c.second+1, second-int64(len(c.units))+1, 0); s <= second; s++ {
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
