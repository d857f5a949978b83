package tui

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// selection is which key is looked at, and who chose it.
type selection struct {
	selected string          // Reading.Key
	chosen   bool            // a person has pressed something: it does not move by itself any more
	picked   bool            // a person selected this very key
	begun    limiter.Instant // when there was one first
	lost     string          // the selected key that went away, until the person has been told
}

// settling is how long the selection follows the key in greatest need after the screen
// opened: what is read first need not be what is worst.
const settling = 2 * time.Second

// pick selects a key on somebody's behalf.
func (a *App) pick(key string) {
	if key != a.selected {
		a.selected = key
		a.scope.Reset()
	}
	a.chosen, a.picked, a.lost = true, true, ""
	a.follow()
	a.tellFocus()
}

func (a *App) selectRow(i int) {
	if len(a.rows) > 0 {
		a.pick(a.rows[min(max(i, 0), len(a.rows)-1)].Reading.Key)
	}
}

// slipped says, once, that the key somebody looked at went away and another one stands in
// its place: a request that was meant for the one must not reach the other.
func (a *App) slipped() bool {
	lost := a.lost
	a.lost = ""
	if lost == "" {
		return false
	}
	a.say(true, "Nothing was fired: "+a.name(lost)+" is gone and "+a.name(a.selected)+" is selected now; press again to fire at it.")
	return true
}

// resort chooses the rows anew and keeps the selection on its key. It runs once a
// second and when keys come or go, so that rows do not swap under the reader's eyes.
func (a *App) resort() {
	a.rows = a.shown().Select(a.view)
	a.settle()
	a.follow()
	a.tellFocus()
}

// settle selects the first row when there is no selection, or one that nobody chose and
// that is only just there.
func (a *App) settle() {
	if len(a.rows) == 0 {
		return
	}
	there := a.shown().Key(a.selected) != nil
	if a.selected == "" {
		a.begun = a.shownNow()
	}
	if there && (a.chosen || a.shownNow().Sub(a.begun) > settling) {
		return
	}
	if !there && a.selected != "" {
		a.lost = a.selected
	}
	if first := a.rows[0].Reading.Key; first != a.selected {
		a.selected, a.picked = first, false
		a.scope.Reset()
	}
}

// follow scrolls the table so that the selected row can be seen.
func (a *App) follow() {
	n := max(1, a.tableRows())
	for i, k := range a.rows {
		if k.Reading.Key == a.selected {
			a.top = min(max(a.top, i-n+1), i)
		}
	}
	a.top = min(max(a.top, 0), max(0, len(a.rows)-n))
}

// current returns the selected key, or nil when there is none.
func (a *App) current() *model.Watched { return a.shown().Key(a.selected) }

// onScreen lists the keys that can be seen, the selected one first.
func (a *App) onScreen() []string {
	keys := make([]string, 0, 1+a.areas.keys.H)
	if a.selected != "" {
		keys = append(keys, a.selected)
	}
	from, to := a.top, a.top+max(a.areas.keys.H, 1)
	if a.screen == smallMultiples {
		from, to = a.tiles()
	}
	for i := from; i < min(to, len(a.rows)); i++ {
		if k := a.rows[i].Reading.Key; k != a.selected {
			keys = append(keys, k)
		}
	}
	return keys
}

// tellFocus lets the source know what can be seen.
func (a *App) tellFocus() {
	if a.o.Focus != nil {
		a.o.Focus(a.onScreen())
	}
}
