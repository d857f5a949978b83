package watch

import (
	"time"

	"ratescope/internal/backoff"
)

// order tells the reader which limiters to read next.
type order struct {
	kind  orderKind
	names []string // limiters that were written or announced since the order before
}

// orderKind says how much an order reads. A greater kind includes the smaller ones.
type orderKind uint8

const (
	orderNone  orderKind = iota
	orderWoken           // the limiters that the order names
	orderQuick           // these and the limiters on screen
	orderFull            // every limiter that is due
)

// Intervals between orders.
const (
	// quickEvery is the time between two quick orders where the refresh is longer, so that a
	// request is in a batch within a tenth of a second.
	quickEvery = 70 * time.Millisecond
	// wakeupGap is the least time between two orders that name limiters. It is longer on the
	// embedded server, where only requests fired from the screen wake limiters, and the screen
	// draws at most ten frames a second.
	wakeupGap         = 10 * time.Millisecond
	wakeupGapEmbedded = 100 * time.Millisecond
)

// schedule decides when the reader gets which order. It is pure: it has no clock and no
// goroutine, and every method is given the time. A zero time means that nothing is planned.
type schedule struct {
	refresh time.Duration
	gap     time.Duration // wakeupGap or wakeupGapEmbedded

	live   bool      // the latest result held an answer of the server
	busy   bool      // the reader is carrying out an order
	wanted orderKind // the kind to order as soon as the reader is free
	retry  time.Time // no order before this time, because the server is away

	tick  time.Time // the next refresh
	found time.Time // the next full order for keys that discovery found
	woken time.Time // the next order for limiters that were written
	quick time.Time // the next quick order

	ordered     time.Time // the latest order of any kind
	orderedFull time.Time // the latest full order
	orderedNear time.Time // the latest quick or full order
	orderedNews time.Time // the latest order with names

	backoff backoff.Exponential
}

// newSchedule plans a full round at once.
func newSchedule(refresh, gap time.Duration, now time.Time) *schedule {
	return &schedule{refresh: refresh, gap: gap, wanted: orderFull, tick: now.Add(refresh)}
}

// ticked reports whether a refresh is due, and plans the next one. Missed refreshes are
// skipped.
func (s *schedule) ticked(now time.Time) bool {
	if now.Before(s.tick) {
		return false
	}
	s.want(orderFull)
	if s.tick = s.tick.Add(s.refresh); !now.Before(s.tick) {
		s.tick = now.Add(s.refresh)
	}
	return true
}

// hasNews plans an order for limiters that were written.
func (s *schedule) hasNews(now time.Time) {
	if s.live && s.woken.IsZero() {
		s.woken = later(now, s.orderedNews.Add(s.gap))
	}
}

// hasFinds plans a full order for keys that discovery found.
func (s *schedule) hasFinds(now time.Time) {
	if s.live && s.found.IsZero() {
		s.found = later(now, s.ordered.Add(s.refresh/4))
	}
}

// hasWrites plans a quick order at once, because a key was written after an idle time.
func (s *schedule) hasWrites(now time.Time) {
	if s.live {
		s.quick = now
	}
}

// want makes the next order at least of kind k.
func (s *schedule) want(k orderKind) { s.wanted = max(s.wanted, k) }

// next returns the kind of order to give the reader now: orderNone while the reader is busy,
// before the next attempt at a server that is away, and when nothing is due.
func (s *schedule) next(now time.Time) orderKind {
	for _, plan := range []struct {
		at *time.Time
		k  orderKind
	}{{&s.found, orderFull}, {&s.woken, orderWoken}, {&s.quick, orderQuick}} {
		if !plan.at.IsZero() && !now.Before(*plan.at) {
			*plan.at = time.Time{}
			s.want(plan.k)
		}
	}
	k := s.wanted
	if s.busy || k == orderNone || now.Before(s.retry) {
		return orderNone
	}
	if k < orderFull && !s.live {
		s.wanted = orderNone
		return orderNone
	}
	s.busy, s.wanted, s.ordered = true, orderNone, now
	switch k {
	case orderFull:
		s.orderedFull = now
		s.found = time.Time{}
		fallthrough
	case orderQuick:
		s.orderedNear = now
		s.quick = time.Time{}
	}
	return k
}

// tookNames notes that the latest order has names.
func (s *schedule) tookNames() { s.orderedNews, s.woken = s.ordered, time.Time{} }

// answered plans the next order after a result. idle is set when nothing was written to the
// server, and covered when the next write will be announced, so that no quick order is needed
// before it.
func (s *schedule) answered(now time.Time, idle, covered bool) {
	s.busy, s.live = false, true
	s.retry, s.backoff = time.Time{}, backoff.Exponential{}
	if s.refresh <= quickEvery || covered {
		return
	}
	next := s.orderedNear.Add(quickEvery)
	if idle && next.After(s.orderedFull.Add(s.refresh-quickEvery/2)) {
		return // the next refresh comes at about the same time
	}
	if s.quick.IsZero() {
		s.quick = later(now, next)
	}
}

// failed plans another attempt after a result with the error that the server is away.
func (s *schedule) failed(now time.Time) {
	s.busy, s.live = false, false
	s.retry = now.Add(s.backoff.Next())
	s.want(orderFull)
}

// silent notes that the server takes too long to answer an order, on which the reader still
// waits.
func (s *schedule) silent() { s.live = false }

// wake returns the latest time at which ticked and next have to be called again.
func (s *schedule) wake() time.Time {
	at := s.tick
	for _, t := range []time.Time{s.found, s.woken, s.quick} {
		if !t.IsZero() && t.Before(at) && !s.busy {
			at = t
		}
	}
	if s.wanted != orderNone && !s.busy && !s.retry.IsZero() && s.retry.Before(at) {
		at = s.retry
	}
	return at
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
