package watch

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
)

// adopt makes trackers of what discovery found.
func (r *reader) adopt() {
	finds := r.scanner.Collect()
	for _, f := range finds {
		r.windows.Meet(f.Match)
	}
	for _, f := range finds {
		r.adoptOne(f)
	}
}

func (r *reader) adoptOne(f decode.Found) {
	t := r.trackers[f.Name]
	switch {
	case t == nil && !r.o.Slots.Has(f.Name):
		return // another process watches it
	case (f.Denied || f.Blocked) && t == nil:
		r.scanner.Forget(f.Key) // its limiter may be found later
		return
	case t != nil:
		if !t.Meet(f) {
			r.replace(t, f)
		}
		return
	}
	var ok bool
	if f.Evidence, ok = r.grade(f); !ok || r.stale(f) || f.Evidence == model.Likely && r.unlikely[f.Pattern()] {
		return
	}
	if len(r.trackers) >= r.max() && !r.makeRoom(f) {
		r.drop(f.Name)
		return
	}
	delete(r.dropped, r.hash(f.Name))
	r.follow(f)
}

// follow makes a tracker of a find.
func (r *reader) follow(f decode.Found) *tracked {
	t := r.newTracked(f.Name, f.Key)
	r.trackers[f.Name] = t
	t.Attach(f)
	return t
}

// expect makes a tracker of a key that will hold what f says, even while it holds nothing.
func (r *reader) expect(f decode.Found) {
	t := r.newTracked(f.Name, f.Key)
	t.Await()
	r.trackers[f.Name] = t
	t.Attach(f)
}

// stale reports whether a find is a counter of a window long over.
func (r *reader) stale(f decode.Found) bool {
	if f.Kind != decode.Counter {
		return false
	}
	rule := config.RuleFor(r.o.Rules, f.Name, f.Key)
	if rule == nil || rule.Span() == 0 {
		return false
	}
	return f.Start.Add(3*rule.Span()) < r.clock.at(time.Now())
}

func (r *reader) max() int {
	if r.o.MaxKeys > 0 {
		return r.o.MaxKeys
	}
	return DefaultMaxKeys
}

// grade says on what evidence a find is a limiter; ok is false where there is none. A library's
// layout makes it known. A rule that names the key, or a pattern narrower than *, says that it is
// one. Else the form of its value says so only together with a name that limiters have.
func (r *reader) grade(f decode.Found) (e model.Evidence, ok bool) {
	if f.Evidence == model.Known {
		return model.Known, true
	}
	rule := config.RuleFor(r.o.Rules, f.Name, f.Key)
	if rule.Narrow() {
		return model.Told, true
	}
	narrow := slices.ContainsFunc(r.o.Watch, func(p string) bool {
		return strings.Trim(p, "*") != "" && config.MatchGlob(p, f.Key)
	})
	switch f.Kind {
	case decode.Wrong, decode.Opaque:
		if f.Kind == decode.Opaque && !narrow {
			break
		}
		return model.Told, narrow && rule != nil && rule.Algorithm != limiter.Unknown
	case decode.Single:
		if !f.Sure && !narrow {
			return model.Likely, r.lostExpiry(f)
		}
	}
	if narrow {
		return model.Told, true
	}
	return model.Likely, f.Sure && (f.Telling || r.scanner.Alike(f.Key))
}

// lostExpiry reports whether an integer without an expiry is likely to be a counter whose
// EXPIRE was lost: the process died after INCR, or a SET went over it, and since then it
// denies for ever. Any number of a program looks the same, so that two things must come
// together: sampled writes show that the key is written all the time, and it is named as limiters
// are. A version, a sequence of ids and a count of visitors have one or none of these.
func (r *reader) lostExpiry(f decode.Found) bool {
	return r.ranker.rates[f.Name] > 0 && r.scanner.Alike(f.Key)
}

// replace puts another tracker in the place of t, because its key holds something else now.
func (r *reader) replace(t *tracked, f decode.Found) *tracked {
	fresh := r.newTracked(t.Name, f.Key)
	fresh.Succeed(t.Tracker, f)
	r.trackers[t.Name] = fresh
	return fresh
}

// removeGone forgets the limiters whose keys are gone, and returns their names.
func (r *reader) removeGone() []string {
	var gone []string
	now := r.clock.at(time.Now())
	for name, t := range r.trackers {
		if t.Unlikely() {
			gone = append(gone, name)
			delete(r.trackers, name)
			if len(r.unlikely) < mostUnlikely {
				r.unlikely[t.Pattern()] = true
			}
			continue
		}
		switch t.Fate(now) {
		case track.FateGone:
			gone = append(gone, name)
			delete(r.trackers, name)
			r.scanner.Forget(name)
		case track.FateChanged:
			delete(r.trackers, name)
			r.scanner.Forget(name)
		}
	}
	slices.Sort(gone)
	return gone
}

// mostUnlikely bounds how many patterns of keys that are no limiters are told apart.
const mostUnlikely = 4096

// maxDropped bounds how many limiters beyond the cap are told apart.
const maxDropped = 1 << 20

// drop counts a limiter that is known and not read.
func (r *reader) drop(name string) {
	if len(r.dropped) < maxDropped {
		r.dropped[r.hash(name)] = true
	}
}

var seed = maphash.MakeSeed()

func (r *reader) hash(name string) uint64 { return maphash.String(seed, name) }
