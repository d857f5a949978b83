package observe

import (
	"slices"
	"strings"
	"time"

	"ratescope/feed/look"
	"ratescope/feed/rules"
	"ratescope/feed/shape"
	"ratescope/limiter"
)

// adopt makes looks of what discovery found.
func (w *observer) adopt() {
	for _, f := range w.scout.Collect() {
		w.meet(f)
	}
}

func (w *observer) meet(f shape.Found) {
	l := w.looks[f.Name]
	switch {
	case (f.Denied || f.Blocked) && l == nil:
		w.scout.Forget(f.Key) // its limiter may be found later
		return
	case l != nil:
		if !l.Meet(f) {
			w.replace(l, f)
		}
		return
	}
	if !w.interesting(f) {
		return
	}
	if w.stale(f) {
		return
	}
	if len(w.looks) >= w.max() && !w.makeRoom(f) {
		w.drop(f.Name)
		return
	}
	delete(w.dropped, fnv(f.Name))
	l = w.lookFor(f.Name, f.Key)
	w.looks[f.Name] = l
	l.Dress(f)
}

// Expect makes a look at a key that will hold what f says, even while it holds nothing.
func (w *Watch) Expect(f shape.Found) {
	l := w.lookFor(f.Name, f.Key)
	l.Await()
	w.looks[f.Name] = l
	l.Dress(f)
}

// stale says that a find is a counter of a window long over.
func (w *observer) stale(f shape.Found) bool {
	if f.Kind != shape.Counter {
		return false
	}
	r := rules.For(w.o.Rules, f.Name, f.Key)
	if r == nil || r.Span() == 0 {
		return false
	}
	now := w.clock.at(time.Now())
	return f.Start.Add(3*r.Span()) < now
}

func (w *observer) max() int {
	if w.o.MaxKeys > 0 {
		return w.o.MaxKeys
	}
	return DefaultMaxKeys
}

// interesting says that a find is worth watching: it looks like a limiter, or somebody
// spoke of it: with a rule that is not for all keys, or with a pattern narrower than *.
func (w *observer) interesting(f shape.Found) bool {
	if f.Sure || f.Kind == shape.Stream {
		return true
	}
	r := rules.For(w.o.Rules, f.Name, f.Key)
	if r != nil && strings.Trim(r.Match, "*") != "" {
		return true
	}
	narrow := slices.ContainsFunc(w.o.Watch, func(p string) bool {
		return strings.Trim(p, "*") != "" && rules.Match(p, f.Key)
	})
	if f.Kind == shape.Single && (narrow || w.lostExpiry(f)) {
		return true
	}
	// A set without a single time is hardly a log, and a string hardly a counter, unless
	// a rule says what it should be.
	if f.Kind == shape.Log {
		return narrow || !r.Silent()
	}
	return narrow && r != nil && r.Algorithm != limiter.Unknown
}

// lostExpiry says that an integer without an expiry is likely to be a counter whose EXPIRE was
// lost: the process died after INCR, or somebody wrote SET over it, and since then it denies
// for ever. Any number of a program looks the same, so that two things must come together:
// somebody writes it all the time, as far as is heard, and it is called as limiters are. A
// version, a sequence of ids and a count of visitors have one or none of these.
func (w *observer) lostExpiry(f shape.Found) bool {
	return w.heat.rates[f.Name] > 0 && w.scout.Alike(f.Key)
}

// replace puts another look in the place of l, because its key holds something else now.
func (w *observer) replace(l *turn, f shape.Found) *turn {
	fresh := w.lookFor(l.Name, f.Key)
	fresh.Succeed(l.Look, f)
	w.looks[l.Name] = fresh
	return fresh
}

// bury forgets the looks whose keys are gone, and returns their names.
func (w *observer) bury() []string {
	var gone []string
	now := w.clock.at(time.Now())
	for name, l := range w.looks {
		switch l.Fate(now) {
		case look.FateGone:
			gone = append(gone, name)
			delete(w.looks, name)
			w.scout.Forget(name)
		case look.FateChanged:
			delete(w.looks, name)
			w.scout.Forget(name)
		}
	}
	slices.Sort(gone)
	return gone
}

// droppedMost bounds how many keys beyond the cap are told apart.
const droppedMost = 1 << 20

// fnv is FNV-1a.
func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
