package track

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/naming"
)

// infer gives the inference engine a reading of a likely limiter, and adopts the terms that are
// sure for the limiters of its pattern. Terms that a rule gives are not changed. It reports whether the count is
// what is left, so that what is used is not known.
func (l *Tracker) infer(r *model.Reading) (left bool) {
	single, isSingle := l.decoder.(*singleDecoder)
	if l.inferred == nil || l.Found.Evidence != model.Likely && !(isSingle && l.Found.Evidence == model.Told) {
		return false
	}
	seen := *r
	seen.Type, seen.TTL, seen.Target, seen.Pattern = l.key.typ, l.key.ttl, l.target, l.Found.Pattern
	var says Span
	log, isLog := l.decoder.(*logDecoder)
	if isLog {
		says.Start = log.oldest
	}
	if isSingle && single.window.Start != 0 && single.window.End != 0 {
		says = Span{Start: single.window.Start, End: single.window.End}
		if single.over(r.At) { // what stays of a window of its name is no count
			seen.Type = "none"
		}
	}
	if !isSingle || says.Start != 0 || !single.over(r.At) {
		l.inferred.Learn(&seen, says)
	}
	if l.Found.Evidence == model.Told {
		return false // a rule gives its terms; which way it counts is of use to withhold
	}
	terms := l.inferred.Terms(l.Found.Pattern)
	l.unlikely = terms.Verdict == NoLimits
	l.notes.set(model.CountsDown, terms.Left)
	r.Partial = r.Partial || terms.Left
	t := &l.target
	if l.rule.Span() == 0 && t.Algorithm == limiter.FixedWindow && l.kind == decode.Single && !l.windowKnown {
		if t.Window = 0; terms.Window.Sure { // what one key alone suggests is not
			t.Window = terms.Window.Value
		}
		t.Limit.Window = t.Window
		l.notes.set(model.WindowInferred, t.Window > 0)
	}
	if isLog && l.rule.Span() == 0 && !l.windowKnown {
		if t.Window = 0; terms.Window.Sure { // entries vanish at that age
			t.Window = terms.Window.Value
		} else {
			r.State.Log = nil // it is not known which of its entries count
		}
		t.Limit.Window = t.Window
	}
	l.inferLimit(&terms)
	r.Unsettled = slices.Clone(terms.Settle)
	return terms.Left
}

// inferLimit adopts the inferred limit, or removes it if it is no longer sure.
func (l *Tracker) inferLimit(terms *Terms) {
	t := &l.target
	if t.LimitKnown && t.LimitFrom != model.LimitInferred {
		return
	}
	found, ok := limiter.Limit{}, false
	switch {
	case (t.Algorithm == limiter.FixedWindow || t.Algorithm == limiter.SlidingLog) && terms.Limit.Sure && t.Window > 0:
		found, ok = limiter.Limit{Count: terms.Limit.Value, Window: t.Window}, true
	case t.Algorithm == limiter.GCRA && terms.Interval.Sure && terms.Burst.Sure:
		if found, ok = Rate(terms.Interval.Value); ok {
			found.Burst = terms.Burst.Value
		}
	}
	switch {
	case ok:
		t.Limit, t.Window, t.LimitKnown, t.LimitFrom = found, found.Window, true, model.LimitInferred
	case t.LimitFrom == model.LimitInferred:
		t.Limit, t.LimitKnown, t.LimitFrom = limiter.Limit{Window: t.Window}, false, model.NoLimit
	}
	l.notes.set(model.LimitGuessed, ok)
}

// Unlikely reports whether a likely limiter turned out not to be a limiter.
func (l *Tracker) Unlikely() bool { return l.unlikely && l.Found.Evidence == model.Likely && !l.Named }

// withhold removes the figures of a limiter that is told without its layout, or of a log, where its keys say that the
// plain reading of its form is wrong, and notes why: its name holds a window, it counts down, its times
// are the ends of leases, or it is not known how much a request counts. It reports whether it removed them.
func (l *Tracker) withhold(r *model.Reading) bool {
	l.notes.set(l.unit, false)
	if l.unit = ""; r.Err == "" && l.target.LimitKnown && l.counts() != nil {
		l.unit = l.inferred.unit(l.Found.Pattern, l.target.Limit.Count)
		l.notes.set(l.unit, l.unit != "")
	}
	withheld := l.misread(r) || l.unit != ""
	l.withheld, r.Partial = withheld && !r.Partial, r.Partial || withheld
	return withheld
}

// counts returns the numbers in the keys of a limiter that no library's layout tells, where it is not told how many of them one
// request counts.
func (l *Tracker) counts() []int64 {
	switch b := l.decoder.(type) {
	case *singleDecoder:
		if b.last > 0 {
			return []int64{b.last}
		}
	case *counterDecoder:
		if b.own == limiter.Unknown {
			return slices.Collect(maps.Values(b.values))
		}
	case *libraryDecoder:
		return b.counts
	}
	return nil
}

// misread reports whether the keys of a limiter say that the plain reading of their form is wrong, and notes why.
func (l *Tracker) misread(r *model.Reading) bool {
	_, log := l.decoder.(*logDecoder)
	if r.Err != "" || !l.plain() && !(log && l.Found.Evidence == model.Told) && !(l.Found.Evidence == model.Likely && l.target.LimitKnown) {
		return false
	}
	var named, down, leases, endless, blocked, timed, bits, part, weighed bool
	of := l.Found.Pattern
	windows, left, expires := Sign{Pattern: of}, Sign{Pattern: of, Left: true}, Sign{Pattern: of, Expires: true}
	switch b := l.decoder.(type) {
	case *singleDecoder:
		seen, w, short := l.inferred.Terms(of), l.target.Window, shortNumber.MatchString(b.key)
		now := comesRound(b.key, w, r.At) // a key mostly expires within two windows of its own
		before := comesRound(b.key, w, r.At.Add(-w)) || comesRound(b.key, w, r.At.Add(-2*w))
		ids := Sign{Pattern: of, IDs: true}
		switch {
		case b.outlives && short:
			l.inferred.Show(windows, r.At)
		case short && !now && (l.since != 0 && len(r.Arrivals) > 0 && !comesRound(b.key, w, l.since) ||
			!before && r.TTL > 0 && r.TTL <= w && !comesRound(b.key, w, r.At.Add(decode.ClientAhead))):
			l.inferred.Show(ids, r.At) // it counts in the window of another number, or lives in one
		}
		named = naming.Dated(b.key, w, r.At) || (now || before) && !l.inferred.Shown(ids, r.At) || short && l.inferred.Shown(windows, r.At)
		if r.Type != "none" && r.TTL > 0 {
			l.inferred.Show(expires, r.At)
			if r.State.Current == 0 && !seen.Up {
				l.inferred.Show(left, r.At)
			}
		}
		down = b.fell || seen.Down || r.Type != "none" && r.TTL > 0 && r.State.Current == 0 ||
			!b.rose && !seen.Up && (b.high || naming.Speaks("rest", b.key) || l.inferred.Shown(left, r.At))
		endless = r.TTL == model.Forever && r.Type != "none" && l.inferred != nil && !l.inferred.Shown(expires, r.At)
		parts := Sign{Pattern: of, Parts: true}
		if b.part {
			l.inferred.Show(parts, r.At)
		}
		blocked, timed, bits, part = b.blocked, b.timed, b.bits, l.inferred.Shown(parts, r.At)
	case *counterDecoder: // the number at the end of its name may be the end of a window
		w := l.target.Window
		named = b.own == limiter.Unknown && slices.ContainsFunc(b.starts, func(start limiter.Instant) bool {
			if start > r.At.Add(decode.ClientAhead) || b.early {
				l.inferred.Show(windows, r.At)
			}
			return start > r.At || w > 0 && start.Floor(w) != start
		}) || l.inferred.Shown(windows, r.At) && b.own == limiter.Unknown
	case *logDecoder:
		n, ends := len(r.State.Log), Sign{Pattern: l.Found.Pattern, Leases: true}
		if n > 0 && r.State.Log[n-1].At > r.At.Add(max(decode.ClientAhead, l.target.Window/4)) {
			l.inferred.Show(ends, r.At)
		}
		leases = n > 0 && ((l.rule == nil || l.rule.Layout == nil) && naming.Speaks("leases", l.Name) || l.inferred.Shown(ends, r.At))
	case *streamDecoder:
		weighed = b.tail.weighed
	}
	if down = down && l.Found.Evidence == model.Told; l.Found.Evidence == model.Told { // what is likely, infer reads as what is left
		l.notes.set(model.CountsDown, down)
	}
	withheld := down
	for _, why := range [...]struct {
		note model.Note
		on   bool
	}{{model.WindowNamed, named}, {model.LeaseEnds, leases}, {model.EndUnknown, endless}, {model.BlockBeside, blocked},
		{model.TimeBeside, timed}, {model.Bitmap, bits}, {model.PartOf, part}, {model.CostUnread, weighed}} {
		l.notes.set(why.note, why.on)
		withheld = withheld || why.on
	}
	return withheld
}

// Review withholds the figures of a reading that was finished before another key of its pattern showed a sign, or gives them where
// keys of its pattern expire after all.
func (l *Tracker) Review(r *model.Reading) {
	was := l.withheld
	r.Partial = r.Partial && !was
	if l.withhold(r) || was {
		r.Notes = l.notes.list()
	}
}

// comesRound says whether a short number in a name is that of the window at an instant.
func comesRound(key string, window time.Duration, at limiter.Instant) bool {
	_, ok := naming.Rounds(key, window, at)
	return ok
}

// shortNumber finds what may be the number of a window that comes round.
var shortNumber = regexp.MustCompile(`(?:^|[:_./|-])\d{1,4}(?:$|[:_./|-])`)

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
