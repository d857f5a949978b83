package feed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// adopt makes looks of what discovery found.
func (w *observer) adopt() {
	for _, f := range w.scout.collect() {
		w.meet(f)
	}
}

func (w *observer) meet(f found) {
	l := w.looks[f.name]
	switch {
	case f.denied && l != nil:
		l.denied.skip = 0
	case f.blocked && l != nil:
		l.block.key = f.key
	}
	if f.denied || f.blocked {
		if l == nil {
			w.scout.forget(f.key) // its limiter may be found later
		}
		return
	}
	if l != nil {
		if b, ok := l.body.(*counterBody); ok && f.kind == kindCounter && (b.own == f.own) {
			b.meet(f.start)
			return
		}
		if l.silent == 0 && l.kind != kindNone && l.kind != f.kind || l.kind == f.kind {
			return // the name is taken by something that lives
		}
		w.replace(l, f)
		return
	}
	if !w.interesting(f) {
		return
	}
	if w.stale(f) {
		return
	}
	if len(w.looks) >= w.max() {
		if len(w.dropped) < seenMost {
			w.dropped[fnv(f.name)] = true
		}
		return
	}
	l = w.lookFor(f.name, f.key)
	w.looks[f.name] = l
	w.dress(l, f)
}

// expect makes a look at a key that will hold what the persona keeps, even while it
// holds nothing.
func (w *observer) expect(p persona) {
	f := found{key: p.key, typ: "none", name: p.key, sure: true}
	switch p.algorithm {
	case limiter.FixedWindow, limiter.SlidingWindow:
		f.kind, f.own, f.unit = kindCounter, p.algorithm, time.Millisecond
	case limiter.SlidingLog:
		f.kind = kindLog
	case limiter.StreamCounter:
		f.kind = kindStream
	case limiter.GCRA:
		f.kind = kindTAT
	case limiter.TokenBucket:
		f.kind, f.field = kindBucket, "tokens"
	case limiter.LeakyBucket:
		f.kind, f.field = kindBucket, "level"
	}
	l := w.lookFor(p.key, p.key)
	l.named, l.certain = true, true
	w.looks[p.key] = l
	w.dress(l, f)
}

// stale says that a find is a counter of a window long over.
func (w *observer) stale(f found) bool {
	if f.kind != kindCounter {
		return false
	}
	r := ruleFor(w.o.Rules, f.name, f.key)
	if r == nil || r.window() == 0 {
		return false
	}
	now := w.clock.at(time.Now())
	return f.start.Add(3*r.window()) < now
}

func (w *observer) max() int {
	if w.o.MaxKeys > 0 {
		return w.o.MaxKeys
	}
	return DefaultMaxKeys
}

// interesting says that a find is worth watching: it looks like a limiter, or somebody
// spoke of it: with a rule that is not for all keys, or with a pattern narrower than *.
func (w *observer) interesting(f found) bool {
	if f.sure || f.kind == kindStream {
		return true
	}
	r := ruleFor(w.o.Rules, f.name, f.key)
	if r != nil && strings.Trim(r.Match, "*") != "" {
		return true
	}
	narrow := slices.ContainsFunc(w.o.Watch, func(p string) bool {
		return strings.Trim(p, "*") != "" && matchGlob(p, f.key)
	})
	// A set without a single time is hardly a log, and a string hardly a counter, unless
	// a rule says what it should be.
	if f.kind == kindLog {
		return narrow || !r.silent()
	}
	return narrow && r != nil && r.Algorithm != limiter.Unknown
}

// dress gives a look the body that reads what was found.
func (w *observer) dress(l *look, f found) {
	l.kind, l.typ, l.wrong = f.kind, f.typ, ""
	a := limiter.Unknown
	layout := limiter.Layout{}
	switch f.kind {
	case kindLog:
		a = limiter.SlidingLog
	case kindStream:
		a = limiter.StreamCounter
	case kindCounter:
		a = f.own
		if a == limiter.Unknown {
			a, layout = limiter.FixedWindow, limiter.Layout{Unit: f.unit, Suffixed: true}
		}
	case kindSingle:
		a = limiter.FixedWindow
	case kindTAT:
		a = limiter.GCRA
	case kindBucket:
		a = limiter.TokenBucket
		if f.field == "level" {
			a = limiter.LeakyBucket
		}
	}
	l.settle(a, layout, 0)
	if f.kind == kindCounter && f.own != limiter.Unknown {
		l.target.Inferred = false
	}
	rule := limiter.Unknown
	if l.rule != nil {
		rule = l.rule.Algorithm
	}
	l.note(model.WrongType, false)
	if f.kind == kindWrong || !suits(f.kind, rule) {
		l.misfit(f.key, f.typ, rule)
		return
	}
	l.body = newBody(f)
	if l.past != nil {
		l.past.lay(l)
	}
}

// misfit makes the look say that the key holds another type than wanted.
func (l *look) misfit(key, typ string, rule limiter.Algorithm) {
	l.kind = kindWrong
	l.note(model.WrongType, true)
	l.body = &wrongBody{key: key, rule: rule}
	if rule == limiter.Unknown {
		l.wrong = fmt.Sprintf("holds %s, which is not how a known rate limiter keeps its state", article(typ))
		return
	}
	l.wrong = fmt.Sprintf("holds %s, the rule says %s (%s)", article(typ), rule, wants(rule))
}

// replace gives a look another body because its key holds something else now.
func (w *observer) replace(l *look, f found) *look {
	fresh := w.lookFor(l.name, f.key)
	fresh.named, fresh.past = l.named, l.past
	fresh.since = l.since
	fresh.denied = l.denied
	w.looks[l.name] = fresh
	w.dress(fresh, f)
	if l.kind == kindNone && l.since != 0 { // it was not there then, so all that is there is new
		switch b := fresh.body.(type) {
		case *counterBody:
			b.values = make(map[limiter.Instant]int64)
			b.watched = l.since
		case *singleBody:
			b.known = true
		case *valueBody:
			b.known = true
			b.last.Algorithm = fresh.target.Algorithm
		}
	}
	return fresh
}

// bury forgets the looks whose keys are gone, and returns their names.
func (w *observer) bury() []string {
	var gone []string
	now := w.clock.at(time.Now())
	for name, l := range w.looks {
		switch {
		case l.gone(now):
			gone = append(gone, name)
			delete(w.looks, name)
			w.scout.forget(name)
		case l.changed && !l.named:
			delete(w.looks, name)
			w.scout.forget(name)
		case l.changed || l.named && !l.certain && l.kind != kindNone && l.silent != 0 && now.Sub(l.silent) > 2*max(l.target.Window, time.Second):
			// Somebody asked for it by name: wait for whatever comes under it.
			l.kind, l.wrong, l.changed = kindNone, "", false
			l.note(model.WrongType, false)
			l.body = &probeBody{key: name}
			l.settle(limiter.Unknown, limiter.Layout{}, l.target.Window)
		}
	}
	slices.Sort(gone)
	return gone
}

// fnv is FNV-1a.
func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
