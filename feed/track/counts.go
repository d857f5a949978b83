package track

import (
	"cmp"
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model/collect"
)

// expirySlack is how much two readings of the same expiry may differ: PTTL is in milliseconds,
// and the instant of a reading is an estimate.
const expirySlack = 50 * time.Millisecond

// windows collects the lengths of windows whose start was seen.
type windows struct {
	least, most time.Duration // bounds that all these lengths agree with
	births      int           // windows whose start was seen
	renewed     int           // expiries that were renewed while the count went on, and counts that began anew before them
	lives       bool          // births are those of keys, whose lives may be longer than their windows
	late        int           // rises in the last part of a life
	disagree    bool          // no length agrees with all bounds
}

// begun notes a window that began between two readings that are gap apart; left is the time to
// its expiry at the second one.
func (w *windows) begun(left, gap time.Duration) {
	least, most := left-expirySlack, left+gap+expirySlack
	w.births, w.lives = w.births+1, true
	w.bound(least, most)
}

// bound notes a length that lies between two others.
func (w *windows) bound(least, most time.Duration) {
	w.least, w.most = max(w.least, least), min(cmp.Or(w.most, math.MaxInt64), most)
	w.disagree = w.disagree || w.least > w.most
}

// learnLog takes a reading of a log. A request removes the entries that are older than the window, and adds its own: the
// oldest that is left beside it is not older, and one that it has removed is. The times of entries alone count, which
// are those of one clock.
func (w *windows) learnLog(was, now *key) {
	if now.mark == 0 || now.reached <= was.reached && was.at != 0 {
		now.mark, now.reached = was.mark, was.reached // no request has come, or it is not known what is left
		return
	}
	w.bound(now.reached.Sub(now.mark)-expirySlack, math.MaxInt64)
	if was.mark != 0 && now.mark > was.mark {
		w.births++
		w.bound(0, now.reached.Sub(was.mark)+expirySlack)
	}
}

// figure returns the window: the only usual period within the bounds or, if there is none, a
// length that narrow bounds determine.
func (w *windows) figure() (f Figure[time.Duration]) {
	if w.births == 0 || w.disagree || w.renewed > 0 {
		return f
	}
	const lately = 2
	defer func() { f.Sure = f.Sure && (!w.lives || w.late >= lately) }()
	fits := 0
	for _, p := range decode.Periods {
		if p >= w.least && p <= w.most {
			f.Value = p
			fits++
		}
	}
	switch {
	case fits == 1:
		f.Known = true
		// Without narrow bounds an unusual window could be taken for a usual one near it.
		f.Sure = w.births >= 2 && w.most-w.least <= max(f.Value/20, 4*expirySlack)
	case fits == 0 && w.most-w.least <= 4*expirySlack:
		f.Value = decode.Tidy(w.least + expirySlack)
		f.Known, f.Sure = true, w.births >= 4
	}
	return f
}

// counts collects the counts at which windows ended.
type counts struct {
	highest int64             // the highest count of all keys
	stops   map[uint64]*stops // windows that stopped at highest, by key
	windows int               // windows seen from their start to their end
	changes int               // readings in which a count had risen
	rises   int               // of these, those within a window that had begun before
	refills int               // windows that began with a count above the latest
	still   int               // windows seen from their start to their end in which the count stood still
	falls   int               // readings in which a count had fallen within its window
	zeros   int               // readings in which nothing was left to count
	refuted int               // times that a count exceeded a limit that was sure
}

// stops describes the windows of one key that stopped at the highest count.
type stops struct {
	times           int
	earliest, later float64 // first and last share of the window at which the count was reached
}

// learnCount takes a reading of a counter that expires, or of one whose name says in which window it counts.
func (g *group) learnCount(id uint64, was, now *key, w Span) {
	c := &g.counts
	if now.present && now.count == 0 && now.expiry != 0 {
		c.zeros++
	}
	moved := now.expiry.Sub(was.expiry)
	begun := now.present && w.Start == 0 && (!was.present || now.count < was.count && moved > expirySlack ||
		moved > expirySlack && was.expiry != 0 && was.expiry <= now.at.Add(expirySlack))
	if was.at != 0 && was.present && (!now.present || begun) {
		c.ended(id, was, g.windows.figure())
	}
	switch {
	case !now.present:
		now.count = was.count
	case w.Start != 0 && was.at == 0:
		now.born, now.reached = w.Start, now.at
		g.windows.births++
		g.windows.bound(w.End.Sub(w.Start)-expirySlack, w.End.Sub(w.Start)+expirySlack)
	case begun:
		if now.reached, now.rises = now.at, 1; was.present && was.expiry > now.at.Add(expirySlack) {
			g.windows.renewed++ // its window ended before its life
		}
		if was.at != 0 && now.count > was.count {
			c.refills++
		}
		if was.at != 0 {
			now.born = now.at
			if now.expiry != 0 {
				g.windows.begun(now.expiry.Sub(now.at), now.at.Sub(was.at))
			}
		}
		if now.count > 1 && was.at != 0 && now.count != was.count { // a mark is set to its old value again
			c.changes++
		}
	case was.at == 0:
		now.reached = now.at
	default:
		now.born, now.reached, now.rises = was.born, was.reached, was.rises
		if now.count > was.count {
			if life := now.expiry.Sub(now.born); now.born != 0 && now.expiry != 0 && now.at.Sub(now.born) > life*6/10 {
				g.windows.late++
			}
			c.changes++
			c.rises++
			now.reached = now.at
			now.rises++
		} else if now.count < was.count {
			c.falls++
		}
		if moved > expirySlack && was.expiry != 0 && w.Start == 0 { // else it was between INCR and EXPIRE
			g.windows.renewed++
		}
	}
	if now.present {
		c.meet(now.count, g.windows.figure())
	}
}

// meet notes a count: one above all others refutes a limit that was sure.
func (c *counts) meet(n int64, window Figure[time.Duration]) {
	if n <= c.highest {
		return
	}
	if c.limit(window).Sure {
		c.refuted++
	}
	c.highest = n
	clear(c.stops)
}

// learnRoll takes a reading of a log of which the window is known: how many entries it held when its newest came. At a limit
// every entry that leaves makes room for one, so that the number stands while the entries pass; and unlike with clients that come
// at one pace, they do not pass evenly.
func (g *group) learnRoll(id uint64, was, now *key, log []limiter.Entry) {
	c, window := &g.counts, g.windows.figure()
	if !window.Sure || len(log) == 0 {
		return
	}
	newest := log[len(log)-1].At
	from, least, most, n := newest, window.Value, time.Duration(0), int64(0)
	for i := len(log) - 1; i >= 0 && log[i].At > newest.Add(-window.Value); i-- {
		n += log[i].Count
		if i < len(log)-1 {
			gap := from.Sub(log[i].At)
			least, most = min(least, gap), max(most, gap)
		}
		from = log[i].At
	}
	c.meet(n, window)
	now.count = n
	if n != c.highest || was.count != n || now.reached <= was.reached || from > was.reached || 2*most <= 3*least {
		return
	}
	if c.stops[id] == nil {
		collect.Put(&c.stops, id, &stops{later: 1})
	}
	c.stops[id].times++
}

// ended notes the end of a window, whose last reading is was.
func (c *counts) ended(id uint64, was *key, window Figure[time.Duration]) {
	if was.born != 0 && was.rises <= 1 {
		c.still++
	}
	if was.born == 0 || !window.Known {
		return
	}
	c.windows++
	if was.count != c.highest || !stopped(was) {
		return
	}
	share := float64(was.reached.Sub(was.born)) / float64(window.Value)
	s := c.stops[id]
	if s == nil {
		s = &stops{earliest: share, later: share}
		collect.Put(&c.stops, id, s)
	}
	s.times++
	s.earliest, s.later = min(s.earliest, share), max(s.later, share)
}

// stopped reports whether a count stopped at a limit, and not for want of requests: at the rate
// at which it had risen, ten more rises would have come before its last reading.
func stopped(k *key) bool {
	rising, silent := k.reached.Sub(k.born), k.at.Sub(k.reached)
	return k.rises >= 3 && silent > 0 && float64(k.rises)*silent.Seconds() >= 10*rising.Seconds()
}

// limit returns the count at which windows stop. To rule out counts that are equal by chance, it
// is sure only if three keys and six windows have stopped there, at different times of their
// windows, and no count was ever higher. Each refuted limit raises these numbers.
func (c *counts) limit(window Figure[time.Duration]) (f Figure[int64]) {
	times, earliest, later := 0, 1.0, 0.0
	for _, s := range c.stops {
		times += s.times
		earliest, later = min(earliest, s.earliest), max(later, s.later)
	}
	if !window.Sure || times == 0 || c.highest < 2 {
		return f
	}
	need := 1 + c.refuted
	f.Value, f.Known = c.highest, true
	f.Sure = len(c.stops) >= 3*need && times >= 6*need && later > 1.2*earliest
	return f
}

// left reports whether counts fall from where each window begins, and hardly ever rise: they are what is left.
func (g *group) left() bool {
	return g.counts.falls > 2 && g.counts.rises <= g.counts.falls/10 && g.counts.refills > 1
}

// verdict reports whether the keys of the group count like limiters. Marks and switches keep
// the same number from their beginning until they expire, and stocks count down without an end.
func (g *group) verdict(window Figure[time.Duration]) Verdict {
	c := &g.counts
	long := window.Value
	if !window.Known {
		for _, k := range g.keys {
			if k.expiry != 0 {
				long = max(long, k.expiry.Sub(g.first))
			}
		}
	}
	twice := long > 0 && g.last.Sub(g.first) >= 2*long // their windows, or lives, were watched
	switch {
	case g.left():
		return Limiters
	case c.falls > 1 && c.falls > c.changes/10 && (c.rises > 0 || twice):
		return NoLimits
	case c.rises > 0 || c.changes > 0 && c.falls == 0:
		return Limiters
	case c.still > 0 && twice:
		return NoLimits
	}
	return Untold
}

// steps collects the steps of a TAT, which moves in whole units while there is backlog.
type steps struct {
	moves   []float64     // the latest steps in microseconds, each of one or more units
	ceiling int64         // highest backlog of a TAT, in units
	stood   map[*key]bool // keys whose backlog has stayed at the ceiling
}

// mostMoves bounds steps.moves.
const mostMoves = 64

// moved adds a step; 0 and less is none.
func (s *steps) moved(d time.Duration) {
	if d <= 0 {
		return
	}
	s.moves = append(s.moves[max(len(s.moves)+1-mostMoves, 0):], float64(d)/1e3)
}

// learnTAT takes a reading of a theoretical arrival time (TAT). If the TAT was in the future at
// both readings, every admitted request has moved it by whole emission intervals.
func (s *steps) learnTAT(was, now *key) {
	if was.at == 0 || !was.present || !now.present || was.mark <= now.at || was.mark == 0 {
		return
	}
	s.moved(now.mark.Sub(was.mark))
	interval := s.interval()
	if !interval.Sure {
		return
	}
	units := int64(math.Ceil(float64(now.mark.Sub(now.at))/float64(interval.Value) - 1e-3))
	if now.ceiling, now.stood = units, 1; units == was.ceiling && now.mark != was.mark {
		now.stood = was.stood + 1
	} else if units == was.ceiling {
		now.stood = was.stood
	}
	if units > s.ceiling {
		s.ceiling = units
		clear(s.stood)
	}
	if units == s.ceiling && now.stood >= 5 {
		collect.Put(&s.stood, was, true)
	}
}

// interval returns the longest interval that divides all steps. It is too long if every step is
// of several units; it is therefore sure only with eight steps of at least three different
// lengths, among them two of the shortest.
func (s *steps) interval() (f Figure[time.Duration]) {
	if len(s.moves) < 3 {
		return f
	}
	unit := s.moves[0]
	for _, m := range s.moves[1:] {
		if unit = common(unit, m); unit < 1000 { // below a millisecond there is no common interval
			return f
		}
	}
	sum, units := 0.0, 0.0
	lengths := make(map[int64]int)
	for _, m := range s.moves {
		n := math.Round(m / unit)
		lengths[int64(n)]++
		sum, units = sum+m, units+n
	}
	f.Value, f.Known = tidyInterval(sum/units), true
	f.Sure = len(s.moves) >= 8 && len(lengths) >= 3 && lengths[1] >= 2
	return f
}

// common returns the longest time that divides both a and b, apart from some microseconds of
// rounding.
func common(a, b float64) float64 {
	const slack = 4
	for b > slack {
		rest := math.Mod(a, b)
		if b-rest < slack {
			rest = 0
		}
		a, b = b, rest
	}
	return a
}

// tidyInterval rounds an interval to a second, a minute, an hour or a day divided by a whole
// number, if one is near, and else to the microsecond.
func tidyInterval(us float64) time.Duration {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		n := math.Round(float64(period.Microseconds()) / us)
		if n >= 1 && math.Abs(float64(period.Microseconds())/n-us) <= 1.5 {
			return time.Duration(math.Round(float64(period) / n))
		}
	}
	return time.Duration(us * 1e3).Round(time.Microsecond)
}

// burst returns how many units a GCRA admits at once: the backlog of a key that is denied
// requests stays within one unit below it.
func (s *steps) burst() (f Figure[int64]) {
	if s.ceiling == 0 || !s.interval().Sure {
		return f
	}
	return Figure[int64]{Value: s.ceiling, Known: true, Sure: len(s.stood) >= 3}
}

// Rate converts an interval to a limit in the shortest of a second, a minute, an hour and a day
// that contains a whole number of intervals; ok is false if none does.
func Rate(interval time.Duration) (l limiter.Limit, ok bool) {
	for _, period := range [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if n := int64(math.Round(float64(period) / float64(interval))); n >= 1 && (period/time.Duration(n)-interval).Abs() <= 2*time.Microsecond {
			return limiter.Limit{Count: n, Window: period}, true
		}
	}
	return l, false
}
