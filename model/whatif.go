package model

import (
	"time"

	"ratescope/limiter"
)

// WhatIf holds the outcomes that a key's requests would have had under other terms.
type WhatIf struct {
	From, To         limiter.Instant // the period
	Admitted, Denied int64           // units under the other terms
	Was, WasDenied   int64           // units that were admitted and denied; WasDenied has recorded denials only
	DeniedKnown      bool            // denials are recorded; if not, there may have been more requests
	Longest          time.Duration   // the longest wait of a denied request under the other terms
	Differs          limiter.Instant // the first instant with a different outcome; 0 for none
	Stricter         bool            // at that instant the other terms deny more
	Levels           []Level         // levels under the other terms, one for each bin that was watched
}

// First returns the start of the period that was watched; 0 if there is none.
func (t *Timeline) First() limiter.Instant {
	if t.first > t.seen {
		return 0
	}
	return t.Begin(t.first)
}

// Past returns the requests on the timeline up to now, in the order of time. The requests of a bin
// are at its start.
func (t *Timeline) Past(now limiter.Instant) []Arrival {
	_, arrivals, _ := t.report(now)
	return arrivals
}

// Run plays the requests that arrived at k between two instants against a new limiter with other
// terms, and adds the actual and the other outcomes to columns of time; into may be nil. The requests
// of a bin are played at its start.
func (k *Watched) Run(terms Target, from, to limiter.Instant, into *Compared) WhatIf {
	limit := terms.Limit
	limit.Window = terms.Window
	w := WhatIf{From: from, To: to, DeniedKnown: k.Reading.Denied.Known}
	state := limiter.State{Algorithm: terms.Algorithm}
	var buffer [chunkBins]Bin
	var b *Bin
	past := walk{t: k.Timeline}
	for i := k.Timeline.Index(from); i <= k.Timeline.Index(to); i++ {
		at := k.Timeline.Begin(i)
		past, b = past.at(i, &buffer)
		if b == nil {
			continue
		}
		if n := b.Admitted + b.Denied; n > 0 {
			admitted := fit(&state, at, limit, terms.Convention, n)
			w.Was, w.WasDenied = w.Was+b.Admitted, w.WasDenied+b.Denied
			w.Admitted, w.Denied = w.Admitted+admitted, w.Denied+n-admitted
			into.add(at, b, admitted)
			if admitted < n {
				if wait := state.Peek(at, limit, terms.Convention, 1).RetryAfter; wait != limiter.Never {
					w.Longest = max(w.Longest, wait)
				}
			}
			if admitted != b.Admitted && w.Differs == 0 {
				w.Differs, w.Stricter = at, admitted < b.Admitted
			}
		}
		if b.Watched {
			w.Levels = append(w.Levels, Level{At: at, Used: state.Peek(at, limit, terms.Convention, 0).Used})
		}
	}
	return w
}

// Compared holds the outcomes of requests, and those under other terms, in columns of time.
type Compared struct {
	End        limiter.Instant // of the newest column
	Column     time.Duration
	Was, Would []Bin // a bin for each column, oldest first; both have the same length
}

// add adds the requests of a bin that begins at an instant; admitted is how many the other terms
// admit. Bins outside the columns are left out.
func (c *Compared) add(at limiter.Instant, was *Bin, admitted int64) {
	if c == nil || at >= c.End {
		return
	}
	i := len(c.Was) - 1 - int(c.End.Sub(at+1)/c.Column)
	if i < 0 {
		return
	}
	c.Was[i].Admitted, c.Was[i].Denied = c.Was[i].Admitted+was.Admitted, c.Was[i].Denied+was.Denied
	c.Would[i].Admitted, c.Would[i].Denied = c.Would[i].Admitted+admitted, c.Would[i].Denied+was.Admitted+was.Denied-admitted
}

// fit charges as many of n requests of cost 1 as are admitted at an instant, and returns their
// number.
func fit(s *limiter.State, at limiter.Instant, limit limiter.Limit, c limiter.Convention, n int64) int64 {
	room := min(s.Peek(at, limit, c, 0).Remaining, n)
	for room > 0 {
		if s.Take(at, limit, c, room).Allowed {
			return room
		}
		room--
	}
	return 0
}

// RunAll runs the requests of several keys through a limiter with other terms, one for each key, and
// adds up the outcomes. It begins the given number of windows before each key's latest reading. Past
// denials are known only if those of all keys are. Levels are set only for a single key. The requests
// are also added to the columns of into, unless it is nil.
func RunAll(keys []*Watched, terms Target, windows int, into *Compared) WhatIf {
	sum := WhatIf{DeniedKnown: true}
	for _, k := range keys {
		if k.Timeline == nil || k.Reading.At == 0 {
			continue
		}
		to := k.Reading.At
		w := k.Run(terms, max(to.Add(-time.Duration(windows)*k.Timeline.Window()), k.Timeline.First()), to, into)
		if sum.From == 0 || w.From < sum.From {
			sum.From = w.From
		}
		sum.To = max(sum.To, w.To)
		sum.Admitted, sum.Denied = sum.Admitted+w.Admitted, sum.Denied+w.Denied
		sum.Was, sum.WasDenied = sum.Was+w.Was, sum.WasDenied+w.WasDenied
		sum.DeniedKnown = sum.DeniedKnown && w.DeniedKnown
		sum.Longest = max(sum.Longest, w.Longest)
		if w.Differs != 0 && (sum.Differs == 0 || w.Differs < sum.Differs) {
			sum.Differs, sum.Stricter = w.Differs, w.Stricter
		}
		sum.Levels = w.Levels
	}
	if len(keys) != 1 {
		sum.Levels = nil
	}
	return sum
}
