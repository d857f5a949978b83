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

	heard bool   // a connection listens to its stream
	told  bool   // changes of it come as notifications
	at    string // the node that tells of it
	hint  bool   // it is read because of a hint
	busy  bool   // it has more entries than are worth listening to
}

// Focus says which keys matter most. It may be called from any goroutine.
func (w *observer) Focus(keys []string) {
	w.mu.Lock()
	w.focus = slices.Clone(keys)
	w.mu.Unlock()
}

// Written says that a key was written to by somebody of this process, so that it is looked at
// soon. It may be called from any goroutine.
func (w *observer) Written(key string) { w.hints.add(key) }

// The ranks of looks: who is read first.
const (
	onScreen = iota // on screen, or asked for by name
	unread          // never read yet
	pressing        // near its limit, or busy, or not read for long
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
	few := len(w.looks) <= fewLooks
	for _, l := range w.looks {
		l.place = place[l.Name]
		w.purse.full = w.purse.full && l.Looks > 0
		switch {
		case l.place > 0 || l.Named && len(w.looks) <= fewLooks:
			l.rank = onScreen
		case l.Looks == 0:
			l.rank = unread
		case l.Pressing() || now.Sub(l.due) > longestWait:
			l.rank = pressing
		default:
			l.rank = ordinary
		}
		if prompt := l.rank == onScreen || few || l.Near(); prompt && !w.spared() || !now.Before(l.due) {
			due = append(due, l)
		}
	}
	w.close = w.close[:0]
	for _, l := range w.looks {
		if l.rank == onScreen {
			w.close = append(w.close, l)
		}
	}
	slices.SortFunc(w.close, before)
	slices.SortFunc(due, before)
	return due
}

// spared says that what is written is told: by a vigil or, on the embedded server, by those who
// write. Then keys need only be looked at now and then.
func (w *observer) spared() bool { return w.calm.still || w.embedded }

// before orders looks by their importance.
func before(a, b *turn) int {
	onStage := func(l *turn) int { // those that are not on screen come last
		if l.place == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(onStage(a), onStage(b)), cmp.Compare(a.place, b.place), a.due.Compare(b.due), strings.Compare(a.Name, b.Name))
}

// quickEvery is the time between two looks at what is on screen where the refresh is
// longer: so a request is in a batch within a tenth of a second.
const quickEvery = 70 * time.Millisecond

// quickShare is how much of the budget looks between two refreshes may take, and strainedShare
// how much of that while the server is strained.
const quickShare, strainedShare = 0.5, 0.2

// quickly returns the looks to read between two refreshes: those of which somebody has
// heard, or as many of those on screen as half of the budget allows, the most important
// first. Of the latter, those whose news come by themselves need none.
func (w *observer) quickly(o order, now time.Time) []*turn {
	var due []*turn
	for _, name := range o.names {
		if l := w.looks[name]; l != nil {
			l.hint = true
			due = append(due, l)
		}
	}
	if o.kind == hinted || w.embedded {
		slices.SortFunc(due, before)
		return due
	}
	share := quickShare * w.purse.share
	if w.strained {
		share *= strainedShare
	}
	spend := time.Duration(share*float64(quickEvery)) - w.tariff.Wake()
	allowed := 1 + int(max(spend, 0)/max(w.quickPrice, time.Microsecond))
	for _, l := range w.close {
		if len(due) >= allowed {
			break
		}
		if w.looks[l.Name] == l && !l.heard && !l.told {
			due = append(due, l)
		}
	}
	return due
}

// How often keys are read. A busy key is read at every refresh; a quiet one less and less
// often, and as a whole only every fourth time: in between it is asked for news alone.
const (
	fewLooks    = 200         // so few are all read at every refresh
	stillPause  = time.Second // on screen, while nothing is written anywhere
	quietPause  = 500 * time.Millisecond
	longestWait = 3 * time.Second
	wholeEvery  = 4
)

// pause is how long a look may wait for its next turn: while nothing is written anywhere not
// longer than its expiry, which comes without a write. On a strained server only what is near
// its limit is read at every refresh while it is not on screen.
func (w *observer) pause(l *turn) time.Duration {
	if l.Pressing() && !w.spared() {
		l.quiet = 0
		if w.strained && !l.Near() {
			return quietPause
		}
		return 0
	}
	l.quiet = min(l.quiet+1, 6)
	if l.rank == onScreen || len(w.looks) <= fewLooks {
		return min(stillPause, l.Lasts()) // or sooner, when something is written
	}
	return min(quietPause*time.Duration(l.quiet), longestWait)
}
