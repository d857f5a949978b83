package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/look"
)

// turn is a look with its place among the others.
type turn struct {
	*look.Look
	due   time.Time // not to be read before
	rank  int
	place int  // on screen, from 1; 0 is not
	quiet int  // readings in a row without news
	moved bool // to another node of a cluster
}

// Focus says which keys matter most. It may be called from any goroutine.
func (w *observer) Focus(keys []string) {
	w.mu.Lock()
	w.focus = slices.Clone(keys)
	w.mu.Unlock()
}

// The ranks of looks: who is read first.
const (
	onScreen = iota // on screen, or asked for by name
	pressing        // near its limit, or busy
	ordinary
)

// plan returns the looks to read now, the most important first.
func (w *observer) plan(now time.Time) []*turn {
	w.mu.Lock()
	place := make(map[string]int, len(w.focus))
	for i, k := range w.focus {
		place[k] = i + 1
	}
	w.mu.Unlock()
	due := make([]*turn, 0, len(w.looks))
	w.purse.full = len(w.looks) > 0 && w.scout.Progress().Passes > 0
	for _, l := range w.looks {
		l.place = place[l.Name]
		w.purse.full = w.purse.full && l.Looks > 0
		switch {
		case l.place > 0 || l.Named && len(w.looks) <= fewLooks:
			l.rank = onScreen
		case l.Pressing():
			l.rank = pressing
		default:
			l.rank = ordinary
		}
		if l.rank == onScreen || !now.Before(l.due) {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.Name, b.Name))
	})
	return due
}

// How often keys are read. A busy key is read at every refresh; a quiet one less and less
// often, and as a whole only every fourth time: in between it is asked for news alone.
const (
	fewLooks    = 200 // so few are all read at every refresh
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause is how long a look may wait for its next turn.
func (w *observer) pause(l *turn) time.Duration {
	switch {
	case len(w.looks) <= fewLooks || l.Pressing():
		l.quiet = 0
		return 0
	case l.Looks <= 1:
		return quietPause
	}
	l.quiet = min(l.quiet+1, 6)
	return min(quietPause*time.Duration(l.quiet), longestWait)
}
