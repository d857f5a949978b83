package track

import (
	"maps"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// notes are those of all further readings. The zero value has none.
type notes struct {
	on   map[model.Note]bool
	skew model.Note // how far entries are in the future; "" where none is
}

// set adds a note, or removes it.
func (t *notes) set(n model.Note, on bool) {
	if delete(t.on, n); on {
		collect.Put(&t.on, n, true)
	}
}

// list returns the notes in a fixed order, nil for none.
func (t *notes) list() []model.Note { return slices.Sorted(maps.Keys(t.on)) }

// ahead adds a note if entries are in the future: how far the clocks of a limiter's writers are ahead of the
// server's, at most. Clocks that are behind cannot be detected, because their entries look like late ones. what is
// the source of the instants, "scores" or "ids".
func (t *notes) ahead(what string, now limiter.Instant, entries []limiter.Entry) {
	t.set(t.skew, false)
	t.skew = ""
	most := time.Duration(0)
	if n := len(entries); n > 0 {
		most = entries[n-1].At.Sub(now)
	}
	if t.set(model.FutureScore, most > futureAllowed); most > futureAllowed {
		t.skew = model.Note(what + " up to " + format.Spaced(most) + " in the future (writer's clock)")
		t.set(t.skew, true)
	}
}
