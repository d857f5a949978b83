package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/track"
)

// tracked is a tracker with its place among the others.
type tracked struct {
	*track.Tracker
	due   time.Time // not to be read before
	rank  rank
	place int  // on screen, from 1; 0 is not
	quiet int  // readings in a row without news
	moved bool // to another node of a cluster

	resting bool // not read before due, although it is on screen: it cannot be read

	blocking  bool   // a blocking read waits for its next entry
	announced bool   // changes of it come as notifications
	node      string // the node that sends them
	woken     bool   // it is read because there is news of it
	busy      bool   // it has more entries than are worth a blocking read
}

// rank says who is read first.
type rank uint8

const (
	onScreen rank = iota // on screen, or named by the user
	unread               // never read yet
	pressing             // near its limit, or busy, or not read for long
	ordinary
)

// plan returns the trackers to read now, the most important first.
func (r *reader) plan(now time.Time) []*tracked {
	place := r.shared.focus.places()
	due := make([]*tracked, 0, len(r.limiters.trackers))
	allRead := len(r.limiters.trackers) > 0 && r.limiters.scanner.Progress().Passes > 0
	few, covered := len(r.limiters.trackers) <= fewTrackers, r.covered()
	r.limiters.visible = r.limiters.visible[:0]
	for _, t := range r.limiters.trackers {
		t.place = place[t.Name]
		allRead = allRead && t.Readings > 0
		switch {
		case t.place > 0 || t.Named && few:
			t.rank = onScreen
			r.limiters.visible = append(r.limiters.visible, t)
		case t.Readings == 0:
			t.rank = unread
		case t.Pressing() || now.Sub(t.due) > longestWait:
			t.rank = pressing
		default:
			t.rank = ordinary
		}
		if t.resting && now.Before(t.due) {
			continue
		}
		if prompt := t.rank == onScreen || few || t.Near(); prompt && !covered || !now.Before(t.due) {
			due = append(due, t)
		}
	}
	r.spending.budget.allRead = allRead
	slices.SortFunc(r.limiters.visible, before)
	slices.SortFunc(due, before)
	return due
}

// covered reports whether the next write is announced: by the wait for the first write or, on
// the embedded server, by those who write. Then keys need only be looked at now and then.
func (r *reader) covered() bool { return r.idle.idle || r.embedded }

// before orders trackers by their importance.
func before(a, b *tracked) int {
	offScreen := func(t *tracked) int {
		if t.place == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(offScreen(a), offScreen(b)), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.Name, b.Name))
}

// quickShare is how much of the budget looks between two refreshes may take, and strainedShare
// how much of that while the server is strained.
const quickShare, strainedShare = 0.5, 0.2

// dueBetween returns the trackers to read between two refreshes: those of which there is
// news, and for a quick order as many of those on screen as half of the budget allows, the
// most important first. Of the latter, those whose news is announced need none.
func (r *reader) dueBetween(o order, now time.Time) []*tracked {
	var due []*tracked
	for _, name := range o.names {
		if t := r.limiters.trackers[name]; t != nil {
			t.woken = true
			due = append(due, t)
		}
	}
	if o.kind == orderWoken || r.embedded {
		slices.SortFunc(due, before)
		return due
	}
	s := &r.spending
	share := quickShare * s.budget.share
	if s.strained {
		share *= strainedShare
	}
	spend := time.Duration(share*float64(quickEvery)) - s.costs.Wake()
	allowed := 1 + int(max(spend, 0)/max(s.quick, time.Microsecond))
	news := due // a tracker answers one question at a time
	for _, t := range r.limiters.visible {
		if len(due) >= allowed {
			break
		}
		if r.limiters.trackers[t.Name] == t && !t.blocking && !t.announced && !t.resting && !slices.Contains(news, t) {
			due = append(due, t)
		}
	}
	return due
}

// How often keys are read. A busy key is read at every refresh; a quiet one less and less
// often, and as a whole only every fourth time: in between it is asked for news alone.
const (
	fewTrackers = 200         // so few are all read at every refresh
	stillPause  = time.Second // on screen, while nothing is written anywhere
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause returns how long a tracker may wait for its next turn: while nothing is written anywhere not
// longer than its expiry, which comes without a write. On a strained server only what is near
// its limit is read at every refresh while it is not on screen.
func (r *reader) pause(t *tracked) time.Duration {
	if t.Pressing() && !r.covered() {
		t.quiet = 0
		if r.spending.strained && !t.Near() {
			return quietPause
		}
		return 0
	}
	t.quiet = min(t.quiet+1, 6)
	if t.rank == onScreen || len(r.limiters.trackers) <= fewTrackers {
		return min(stillPause, t.Lasts()) // or sooner, when something is written
	}
	return min(quietPause*time.Duration(t.quiet), longestWait)
}
