package model

import (
	"cmp"
	"math"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// Forecast is the result of firing requests if no other client sends any. If other clients do, and
// all requests cost 1, no more are admitted than Admitted. Fewer are admitted by at most the number
// of other clients' requests that are admitted before the last one of the order.
type Forecast struct {
	Known     bool // false when the limit or the state is not known
	Admitted  int
	Denied    int
	Remaining int64         // after the last request
	Next      time.Duration // from the last request until one more of the same cost is admitted; limiter.Never is never
}

// terms returns the limit of a reading over its window; ok is false where no decision can be worked out.
func (r *Reading) terms() (limit limiter.Limit, ok bool) {
	t := &r.Target
	limit = t.Limit
	limit.Window = t.Window
	return limit, r.Err == "" && t.LimitKnown && t.Window > 0 && t.Algorithm != limiter.Unknown
}

// ForecastOrder plays the requests of an order against a copy of the state, from now on and at the
// instants at which they are due, and returns that state too.
func (r *Reading) ForecastOrder(now limiter.Instant, s Order) (Forecast, limiter.State) {
	limit, ok := r.terms()
	state := r.State.Clone()
	switch {
	case !ok:
		return Forecast{}, state
	case s.Rate == 0 && s.Shape.Kind == Even || r.stuck():
		return r.forecast(now.Add(s.Shape.Wait), cmp.Or(s.N, MaxRequests), s.Cost)
	}
	f, at := Forecast{Known: true}, now
	for due := range s.Due() {
		at = now.Add(due)
		f.add(state.Take(at, limit, r.Target.Convention, s.Cost))
	}
	f.Next = state.Peek(at, limit, r.Target.Convention, s.Cost).RetryAfter
	return f, state
}

func (f *Forecast) add(d limiter.Decision) {
	if f.Remaining = d.Remaining; d.Allowed {
		f.Admitted++
	} else {
		f.Denied++
	}
}

// Forecast plays n requests of the given cost at now against a copy of the state.
func (r *Reading) Forecast(now limiter.Instant, n int, cost int64) Forecast {
	f, _ := r.forecast(now, n, cost)
	return f
}

func (r *Reading) forecast(now limiter.Instant, n int, cost int64) (Forecast, limiter.State) {
	limit, ok := r.terms()
	s, c := r.State.Clone(), r.Target.Convention
	if !ok {
		return Forecast{}, s
	}
	stuck := r.stuck()
	if stuck {
		s.Start = now
	}
	f := Forecast{Known: true}
	if c.Rule == convention.Fits && cost > 0 && n > 1 && cost <= limiter.MaxCount/int64(n) {
		// At one instant, requests that are admitted one by one are admitted together too, so that a
		// large burst needs only a few decisions.
		f.Admitted = sort.Search(n, func(k int) bool { return !s.Peek(now, limit, c, int64(k+1)*cost).Allowed })
		if f.Admitted > 0 {
			f.Remaining = s.Take(now, limit, c, int64(f.Admitted)*cost).Remaining
		}
	}
	for f.Admitted+f.Denied < n {
		d := s.Take(now, limit, c, cost)
		if f.add(d); !d.Allowed && c.Denied == convention.Free { // the state no longer changes: all others are denied too
			f.Denied = n - f.Admitted
		}
	}
	f.Next = s.Peek(now, limit, c, cost).RetryAfter
	if stuck && f.Next > 0 {
		f.Next = limiter.Never
	}
	return f, s
}

// deniedSteps bounds how many requests DeniedIn plays.
const deniedSteps = 2000

// DeniedIn returns after how long a request is denied if requests of cost 1 come evenly at a rate, in
// requests a second. ok is false if none is denied within a window, if a request would be denied
// now, and if the state or the limit is not known. It plays at most deniedSteps requests; if there
// would be more, each stands for several.
func (r *Reading) DeniedIn(now limiter.Instant, rate float64) (after time.Duration, ok bool) {
	t := &r.Target
	limit, known := r.terms()
	if !known || r.Partial || limit.Count <= 0 || !(rate > 0) || len(r.State.Log) > maxPlayed || r.stuck() {
		return 0, false
	}
	s := r.State.Clone()
	total := rate * t.Window.Seconds()
	if !(total < 1e9) {
		return 0, false
	}
	each := max(int64(math.Ceil(total/deniedSteps)), 1)
	if !s.Peek(now, limit, t.Convention, 1).Allowed {
		return 0, false
	}
	step := time.Duration(float64(each) / rate * float64(time.Second))
	for after = step; after <= t.Window; after += step {
		if !s.Take(now.Add(after), limit, t.Convention, each).Allowed {
			return after, true
		}
	}
	return 0, false
}

// maxPlayed is the longest log that DeniedIn copies.
const maxPlayed = 20_000

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
