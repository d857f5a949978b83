package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/internal/goroutine"
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
	// wakeupGap is the least time between two orders that name limiters. It is longer on the embedded server, where only requests fired
	// from the screen wake limiters, and the screen draws at most ten frames a second.
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
	orderedNear time.Time // the latest quick or full order
	orderedNews time.Time // the latest order with names

	backoff goroutine.Backoff
}

// newSchedule plans a full round at once.
func newSchedule(refresh, gap time.Duration, now time.Time) *schedule {
	return &schedule{refresh: refresh, gap: gap, wanted: orderFull, tick: now.Add(refresh)}
}

// ticked reports whether a refresh is due, and plans the next one. Missed refreshes are skipped.
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

// answered plans the next order after a result. covered is set when the next write will be announced, so that no quick
// order is needed before it.
func (s *schedule) answered(now time.Time, covered bool) {
	s.busy, s.live = false, true
	s.retry, s.backoff = time.Time{}, goroutine.Backoff{}
	if s.refresh > quickEvery && !covered && s.quick.IsZero() {
		s.quick = later(now, s.orderedNear.Add(quickEvery))
	}
}

// failed plans another attempt after a result with the error that the server is away.
// A user who was refused is not known sooner for being asked often.
func (s *schedule) failed(now time.Time, refused bool) {
	s.busy, s.live = false, false
	s.retry = now.Add(s.backoff.Next())
	if refused {
		s.retry = now.Add(refusedUser)
	}
	s.want(orderFull)
}

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

// tracked is a tracker with what the reader plans for it.
type tracked struct {
	tracker *track.Tracker
	due     time.Time // the next reading, or sooner if the key is on screen
	rank    rank
	place   int  // place on screen, from 1; 0 is off screen
	quiet   int  // readings in a row without news
	moved   bool // its key has moved to another node of the cluster

	resting bool // it could not be read, and is not tried before due even if it is on screen

	read    time.Time // the latest reading
	own     bool      // as of the latest whole reading, its name tells whose the keys are that were read
	written bool      // it was written since the latest reading, as far as writes were announced

	woken bool // it was written or announced, and is read for that reason
	asked asked
}

// rank orders trackers by importance: the smallest rank is read first.
type rank uint8

const (
	onScreen rank = iota // on screen, or named by the user
	unread               // not read yet
	pressing             // near its limit, busy, or overdue by longestWait
	ordinary
)

// plan ranks all trackers and returns those to read in a full round, the most important first.
func (r *reader) plan(now time.Time) []*tracked {
	place, _ := r.shared.places.Load().(map[string]int)
	due := make([]*tracked, 0, len(r.limiters.trackers))
	allRead := len(r.limiters.trackers) > 0 && r.limiters.scanner.Progress().Passes > 0
	few, covered := len(r.limiters.trackers) <= fewTrackers, r.covered()
	r.limiters.visible = r.limiters.visible[:0]
	for _, t := range r.limiters.trackers {
		t.place = place[t.tracker.Name]
		allRead = allRead && t.tracker.Readings > 0
		switch {
		case t.place > 0 || t.tracker.Named && few:
			t.rank = onScreen
			r.limiters.visible = append(r.limiters.visible, t)
		case t.tracker.Readings == 0:
			t.rank = unread
		case t.written || t.tracker.Pressing() || now.Sub(t.due) > longestWait:
			t.rank = pressing
		default:
			t.rank = ordinary
		}
		if t.resting && now.Before(t.due) {
			continue
		}
		rest, read := longestWait, t.read
		switch {
		case t.due.IsZero(): // it is to be read at once
			rest = 0
		case t.asked.full:
			rest, read = restFull, t.asked.read
		case t.rank == onScreen || few:
			rest = 0
		}
		if r.limiters.still(t) && now.Sub(read) < min(rest, t.tracker.Lasts()) {
			continue
		}
		if prompt := t.rank == onScreen || few || t.tracker.Near; prompt && !covered || t.written || !now.Before(t.due) {
			due = append(due, t)
		}
	}
	r.spending.allRead = allRead
	slices.SortFunc(r.limiters.visible, moreImportant)
	slices.SortFunc(due, moreImportant)
	return due
}

// takeAnnouncements notes which limiters were written.
func (r *reader) takeAnnouncements() {
	l := r.limiters
	var keys map[string]int
	keys, l.announced, l.latest = r.announcements.take()
	if keys[flushed] > 0 {
		l.resync()
		delete(keys, flushed)
	}
	// Nothing was written for idleAfter, and whatever is written next will be announced.
	r.idle = !l.announced.IsZero() && time.Since(later(l.announced, l.latest)) > idleAfter
	if !l.announced.IsZero() {
		l.ranker.writes.Heard(keys)
	}
	l.written = slices.DeleteFunc(l.written, func(t *tracked) bool { return !t.written })
	for key := range keys {
		if t := l.trackers[decode.NameOf(key, r.link.now())]; t != nil && !t.written {
			t.written = true
			l.written = append(l.written, t)
		}
	}
}

// still reports whether a limiter has not been written since its latest reading, because every write is announced.
func (l *limiters) still(t *tracked) bool {
	return !l.announced.IsZero() && t.read.After(l.announced) && (t.own && !t.written || t.read.After(l.latest))
}

// behindAfter is the age of a reading from which its limiter may meanwhile be throttled, unless no write can have been missed.
const behindAfter = time.Second

// behind returns how many limiters may be throttled without being known to be: those that were not read within behindAfter
// and may have been written since.
func (r *reader) behind(now time.Time) int {
	n := 0
	for _, t := range r.limiters.trackers {
		if t.tracker.Readings == 0 || !r.embedded && !t.resting && now.Sub(t.read) > behindAfter && !r.limiters.still(t) {
			n++
		}
	}
	return n
}

// covered reports whether the next write will be announced: by announcements or, on the embedded
// server, by its writers. Keys then need only be read now and then.
func (r *reader) covered() bool { return r.idle || r.embedded }

// moreImportant orders trackers by their importance.
func moreImportant(a, b *tracked) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(uint(a.place-1), uint(b.place-1)), // place 0, off screen, comes last
		a.due.Compare(b.due), strings.Compare(a.tracker.Name, b.tracker.Name))
}

// quickShare is the part of the budget that quick rounds may take; strainedShare is the part
// of that which is left while the server is almost saturated.
const quickShare, strainedShare = 0.5, 0.2

// dueBetween returns the trackers to read between two refreshes, the most important first:
// those that the order names and, for a quick order, as many of those on screen as quickShare
// of the budget allows. Trackers that were not written since their latest reading are left out.
func (r *reader) dueBetween(o order) []*tracked {
	var due []*tracked
	for _, name := range o.names {
		if t := r.limiters.trackers[name]; t != nil {
			t.woken = true
			due = append(due, t)
		}
	}
	if o.kind == orderWoken || r.embedded {
		slices.SortFunc(due, moreImportant)
		return due
	}
	s := &r.spending
	share := quickShare * s.share
	if s.costs.Strained {
		share *= strainedShare
	}
	spend := time.Duration(share*float64(quickEvery)) - s.costs.Wake()
	allowed := 1 + int(max(spend, 0)/max(s.quick, time.Microsecond))
	news := due // a tracker may be in a pipeline only once
	take := func(list []*tracked, on bool) {
		for _, t := range list {
			left := r.limiters.trackers[t.tracker.Name] != t || t.resting || r.limiters.still(t)
			if len(due) < allowed && (t.rank == onScreen) == on && !left && !slices.Contains(news, t) {
				due = append(due, t)
			}
		}
	}
	take(r.limiters.visible, true)
	take(r.limiters.written, false)
	return due
}

// How often keys are read. A busy key is read at every refresh, a quiet one less and less
// often. Every wholeEvery-th reading covers the whole key, the others only what is new.
const (
	fewTrackers = 200         // up to this many trackers are all read at every refresh
	stillPause  = time.Second // between readings of a key on screen while the server is idle
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause returns how long a tracker waits for its next reading. While the server is idle it
// waits at most until the key expires, since an expiry is no write. On a server that is almost
// saturated, keys that are off screen are read at every refresh only when near their limit.
func (r *reader) pause(t *tracked) time.Duration {
	if t.tracker.Pressing() && !r.covered() {
		t.quiet = 0
		if r.spending.costs.Strained && !t.tracker.Near {
			return quietPause
		}
		return 0
	}
	t.quiet = min(t.quiet+1, 6)
	if t.rank == onScreen || len(r.limiters.trackers) <= fewTrackers {
		return min(stillPause, t.tracker.Lasts()) // a write brings it forward
	}
	return min(quietPause*time.Duration(t.quiet), longestWait)
}
