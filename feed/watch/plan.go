package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/track"
)

// tracked is a tracker with what the reader plans for it.
type tracked struct {
	*track.Tracker
	due   time.Time // the next reading, or sooner if the key is on screen
	rank  rank
	place int  // place on screen, from 1; 0 is off screen
	quiet int  // readings in a row without news
	moved bool // its key has moved to another node of the cluster

	resting bool // it could not be read, and is not tried before due even if it is on screen

	blocking bool // a blocking read waits for its next entry
	woken    bool // it was written or announced, and is read for that reason
	busy     bool // it gets entries too often for a blocking read
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
	slices.SortFunc(r.limiters.visible, moreImportant)
	slices.SortFunc(due, moreImportant)
	return due
}

// covered reports whether the next write will be announced: by firstWrite or, on the embedded
// server, by its writers. Keys then need only be read now and then.
func (r *reader) covered() bool { return r.idle.idle || r.embedded }

// moreImportant orders trackers by their importance.
func moreImportant(a, b *tracked) int {
	offScreen := func(t *tracked) int {
		if t.place == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(offScreen(a), offScreen(b)), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.Name, b.Name))
}

// quickShare is the part of the budget that quick rounds may take; strainedShare is the part
// of that which is left while the server is almost saturated.
const quickShare, strainedShare = 0.5, 0.2

// dueBetween returns the trackers to read between two refreshes, the most important first:
// those that the order names and, for a quick order, as many of those on screen as quickShare
// of the budget allows. Trackers whose streams are listened to are left out.
func (r *reader) dueBetween(o order, now time.Time) []*tracked {
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
	share := quickShare * s.budget.share
	if s.strained {
		share *= strainedShare
	}
	spend := time.Duration(share*float64(quickEvery)) - s.costs.Wake()
	allowed := 1 + int(max(spend, 0)/max(s.quick, time.Microsecond))
	news := due // a tracker may be in a pipeline only once
	for _, t := range r.limiters.visible {
		if len(due) >= allowed {
			break
		}
		if r.limiters.trackers[t.Name] == t && !t.blocking && !t.resting && !slices.Contains(news, t) {
			due = append(due, t)
		}
	}
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
	if t.Pressing() && !r.covered() {
		t.quiet = 0
		if r.spending.strained && !t.Near() {
			return quietPause
		}
		return 0
	}
	t.quiet = min(t.quiet+1, 6)
	if t.rank == onScreen || len(r.limiters.trackers) <= fewTrackers {
		return min(stillPause, t.Lasts()) // a write brings it forward
	}
	return min(quietPause*time.Duration(t.quiet), longestWait)
}
