package watch

import (
	"time"

	"ratescope/internal/backoff"
)

// order is what the reader is to do next.
type order struct {
	kind  orderKind
	names []string // limiters of which there is news
}

// orderKind is how much an order reads. A greater kind answers a smaller one too.
type orderKind uint8

const (
	orderNone  orderKind = iota
	orderWoken           // the limiters of which there is news
	orderQuick           // these and what is on screen
	orderFull            // all that is due
)

// Intervals between orders.
const (
	// quickEvery is the time between two looks at what is on screen where the refresh is
	// longer, so that a request is in a batch within a tenth of a second.
	quickEvery = 70 * time.Millisecond
	// wakeupGap is the least time between two rounds for news; on the embedded server that is of
	// requests that a person fires, and a screen shows no more than ten pictures a second.
	wakeupGap         = 10 * time.Millisecond
	wakeupGapEmbedded = 100 * time.Millisecond
)

// schedule decides what the reader does when. It is pure: it does nothing by itself, and
// every method is told the time. The zero time of a field means that it is not planned.
type schedule struct {
	refresh time.Duration
	gap     time.Duration // wakeupGap

	live   bool      // the latest result was an answer
	busy   bool      // the reader has an order
	wanted orderKind // what is ordered as soon as the reader is free
	retry  time.Time // no order before: the server is away

	tick  time.Time // the next refresh
	found time.Time // when what discovery found is read
	woken time.Time // when that of which there is news is read
	quick time.Time // when what is on screen is read

	ordered     time.Time // the latest order
	orderedFull time.Time // … of all that is due
	orderedNear time.Time // … that looked at what is on screen
	orderedNews time.Time // … that had names

	backoff backoff.Exponential
}

// newSchedule plans a full round at once.
func newSchedule(refresh, gap time.Duration, now time.Time) *schedule {
	return &schedule{refresh: refresh, gap: gap, wanted: orderFull, tick: now.Add(refresh)}
}

// ticked reports whether a refresh is due, and plans the next. A refresh that was missed is
// not made up for.
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

// hasNews notes that there is news of some limiters.
func (s *schedule) hasNews(now time.Time) {
	if s.live && s.woken.IsZero() {
		s.woken = later(now, s.orderedNews.Add(s.gap))
	}
}

// hasFinds notes that discovery found something.
func (s *schedule) hasFinds(now time.Time) {
	if s.live && s.found.IsZero() {
		s.found = later(now, s.ordered.Add(s.refresh/4))
	}
}

// hasWrites notes that something was written after a silence.
func (s *schedule) hasWrites(now time.Time) {
	if s.live {
		s.quick = now
	}
}

// want asks for an order of at least a kind.
func (s *schedule) want(k orderKind) { s.wanted = max(s.wanted, k) }

// next returns what the reader is to do now; orderNone while it is busy, while the server
// is given time to come back, or when nothing is due.
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

// tookNames notes that the order that was just given names limiters of which there is news.
func (s *schedule) tookNames() { s.orderedNews, s.woken = s.ordered, time.Time{} }

// answered plans on after a result. idle is set when nothing is written anywhere, and
// covered when the next write is announced, so that nothing need be looked at before.
func (s *schedule) answered(now time.Time, idle, covered bool) {
	s.busy, s.live = false, true
	s.retry, s.backoff = time.Time{}, backoff.Exponential{}
	if s.refresh <= quickEvery || covered {
		return
	}
	next := s.orderedNear.Add(quickEvery)
	if idle && next.After(s.orderedFull.Add(s.refresh-quickEvery/2)) {
		return // the next refresh comes about as soon
	}
	if s.quick.IsZero() {
		s.quick = later(now, next)
	}
}

// failed plans another attempt after a result that says that the server is away.
func (s *schedule) failed(now time.Time) {
	s.busy, s.live = false, false
	s.retry = now.Add(s.backoff.Next())
	s.want(orderFull)
}

// silent notes that the server has not answered the order for too long: the reader is still
// busy with it.
func (s *schedule) silent() { s.live = false }

// wake returns when the schedule has to be asked again at the latest.
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
