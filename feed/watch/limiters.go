package watch

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/feed/watch/discover"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// limiters holds the limiters that are watched: a tracker for each limiter that was found or named, the scanner that finds them, and
// the ranker that finds the hottest where there are more than MaxKeys. It belongs to the reader's goroutine.
type limiters struct {
	o         Options
	rules     decode.Rules           // what the rules of o say of keys before they are read
	pasts     map[string]*track.Past // earlier traffic by key; not nil for an embedded server
	scanner   *discover.Scanner
	ranker    *ranker
	trackers  map[string]*tracked
	announced time.Time       // since when every write is announced; zero where that is not so
	latest    time.Time       // when the latest one was
	written   []*tracked      // trackers that were written since their latest reading
	visible   []*tracked      // trackers polled between two refreshes, the most important first
	unlikely  map[string]bool // patterns of keys that turned out not to be limiters

	patterns   naming.Patterns // of the names of limiters that no library's layout gives a pattern
	applied    int             // the version of patterns that the trackers have
	beyond     unwatched       // limiters beyond MaxKeys
	candidates unwatched       // keys that have the shape of limiters
	bans       []string        // names of some keys that speak of bans
	windows    decode.Windows  // windows learned from all keys of a kind
	noLooks    string          // why access times are not asked; "" where they are
	emptied    limiter.Instant // when the server was last found emptied; 0 for never

	changed map[string]limiter.Instant // keys that hold another type since then, until they are found again
}

// newLimiters returns limiters with a tracker for each name of Options.Keys.
func newLimiters(o Options, pasts map[string]*track.Past) *limiters {
	l := &limiters{o: o, rules: config.Own(o.Rules), pasts: pasts, trackers: make(map[string]*tracked), unlikely: make(map[string]bool),
		changed: make(map[string]limiter.Instant)}
	for _, k := range o.Keys {
		t := l.newTracked(&decode.Found{Name: k, Key: k})
		t.tracker.Probe()
		l.trackers[k] = t
	}
	return l
}

// newTracked returns a tracker of the limiter of a find.
func (l *limiters) newTracked(f *decode.Found) *tracked {
	return &tracked{tracker: track.New(f.Name, config.RuleOf(l.o.Rules, f), l.pasts != nil, l.pasts[f.Name])}
}

// resync makes every tracker read its whole key again, because a different server may answer.
func (l *limiters) resync() {
	l.noLooks = ""
	for _, t := range l.trackers {
		t.due, t.asked = time.Time{}, asked{}
		t.tracker.Resync()
	}
}

// adopt adds trackers for the limiters that discovery has found; now is the server's clock.
func (l *limiters) adopt(now limiter.Instant) {
	finds := l.scanner.Collect()
	for _, f := range finds {
		l.windows.Meet(f.Match)
	}
	for _, f := range finds {
		l.adoptOne(f, now)
		l.generalize(l.trackers[f.Name], now)
	}
	if l.applied != l.patterns.Version {
		for _, t := range l.trackers {
			l.generalize(t, now)
		}
		l.applied = l.patterns.Version
	}
}

// generalize gives a tracker, which may be nil, the pattern of its name where that follows from the names of many limiters.
func (l *limiters) generalize(t *tracked, now limiter.Instant) {
	if t != nil && t.tracker.Found.General {
		found := &t.tracker.Found
		found.Pattern = l.patterns.Of(t.tracker.Name, kindOf(found.Type, found.Kind, found.Library), now)
	}
}

// kindOf is what names of limiters are told apart by: limiters of two kinds have no common pattern.
func kindOf(typ string, kind decode.Kind, library string) string {
	if library != "" {
		library = naming.Whole + library
	}
	return library + typ + " " + kind.String() + " "
}

// adoptOne adds a find to the tracker of its limiter, or adds a tracker if there is none and the find is a limiter worth watching.
func (l *limiters) adoptOne(f decode.Found, now limiter.Instant) {
	t := l.trackers[f.Name]
	switch {
	case t == nil && (!l.o.Slots.Has(f.Name) || len(l.o.Keys) == 0 && layout.IsScratch(f.Name)):
		return // another process watches it, or it is a copy for trying out, which no user's request meets
	case (f.Denied || f.Blocked) && t == nil:
		l.scanner.Forget(f.Key) // its limiter may be found later
		return
	case t != nil:
		if !t.tracker.Meet(f) {
			l.replace(t, f)
		}
		return
	}
	const enough = 256
	if f.Type == "string" && len(l.bans) < enough && naming.Speaks("blocks", f.Key) && !slices.Contains(l.bans, f.Key) {
		l.bans = append(l.bans, f.Key)
	}
	var ok bool
	kind := kindOf(f.Type, f.Kind, f.Library)
	if f.Evidence, ok = l.grade(f); !ok && (f.Candidate || f.Faint) && !f.Beside {
		l.patterns.Learn(f.Name, kind, now)
		l.candidates.add(&f, kind, &l.patterns, now)
	}
	pattern := f.Pattern()
	if ok && f.General() && len(l.unlikely) > 0 {
		pattern = l.patterns.Of(f.Name, kind, now)
	}
	if !ok || l.stale(f, now) || f.Evidence == model.Likely && l.unlikely[pattern] {
		return
	}
	if f.General() {
		l.patterns.Learn(f.Name, kind, now)
	}
	l.candidates.remove(f.Name)
	if len(l.trackers) >= cmp.Or(max(l.o.MaxKeys, 0), DefaultMaxKeys) && !l.makeRoom(f, now) {
		l.beyond.add(&f, kind, &l.patterns, now)
		return
	}
	l.beyond.remove(f.Name)
	l.follow(f)
}

// follow adds a tracker for a find.
func (l *limiters) follow(f decode.Found) *tracked {
	t := l.newTracked(&f)
	l.trackers[f.Name] = t
	t.tracker.Attach(f)
	return t
}

// stale reports whether a find is a counter whose window ended long ago.
func (l *limiters) stale(f decode.Found, now limiter.Instant) bool {
	span := config.RuleOf(l.o.Rules, &f).Span()
	return f.Kind == decode.Counter && span > 0 && f.Start.Add(3*span) < now
}

// grade returns the evidence that a find is a limiter; ok is false where there is none. A find in a library's layout is known to be a
// limiter. A rule that names the key, or a pattern narrower than *, tells that it is one. Otherwise it is a likely limiter only when
// the form of its value and its name both suggest one.
func (l *limiters) grade(f decode.Found) (e model.Evidence, ok bool) {
	if f.Evidence == model.Known || f.Match != nil && f.Match.Rule > 0 {
		return f.Evidence, true
	}
	rule := config.RuleOf(l.o.Rules, &f)
	if rule.Narrow() {
		return model.Told, true
	}
	if f.Beside {
		return model.Likely, false
	}
	narrow := slices.ContainsFunc(l.o.Watch, func(p string) bool {
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
			// An integer may be a counter whose EXPIRE was lost, which denies for ever. Other numbers look the same, so two
			// signs are required: it is written all the time, and its name is one that limiters have.
			return model.Likely, l.ranker.rates[f.Name] > 0 && (l.scanner.Like(f.Key, f.Type) || naming.SenseOf(f.Key).Limits != "")
		}
	}
	if narrow {
		return model.Told, true
	}
	return model.Likely, f.Telling || f.Sure && !f.Refuted && l.scanner.Like(f.Key, f.Type)
}

// replace puts a new tracker in the place of t, because the key now holds something else.
func (l *limiters) replace(t *tracked, f decode.Found) *tracked {
	f.Name = t.tracker.Name
	fresh := l.newTracked(&f)
	fresh.tracker.Succeed(t.tracker, f)
	l.trackers[t.tracker.Name] = fresh
	return fresh
}

// removeGone forgets the limiters whose keys are gone, and returns their names.
func (l *limiters) removeGone(now limiter.Instant) []string {
	var gone []string
	deleted := 0
	for _, t := range l.trackers {
		if t.tracker.Deleted {
			deleted++
		}
	}
	emptied := l.isEmptied(now, deleted)
	for name, t := range l.trackers {
		if t.tracker.Unlikely() {
			gone = append(gone, name)
			l.leave(t, &l.candidates, model.KeyGroup{Evidence: model.Likely, Why: []string{model.Unmoved}}, now)
			if len(l.unlikely) < mostUnlikely {
				l.unlikely[t.tracker.Found.Pattern] = true
			}
			continue
		}
		switch {
		case t.tracker.Gone(now, emptied):
			gone = append(gone, name)
		case t.tracker.Changed():
			l.changed[name] = now
		default:
			continue
		}
		delete(l.trackers, name)
		l.scanner.Forget(name)
	}
	for name, at := range l.changed {
		found := l.trackers[name] != nil
		if !found && now.Sub(at) < changedLasts {
			continue
		}
		if delete(l.changed, name); !found {
			gone = append(gone, name) // what it holds now is no limiter
		}
	}
	slices.Sort(gone)
	return gone
}

const (
	// fewDeleted is how many deleted keys are a chance: of less than that no server is taken to have been emptied.
	fewDeleted = 5
	// emptiedLasts is how long a server counts as emptied after most keys were found deleted: those that are read last
	// are forgotten after the others, when they are few.
	emptiedLasts = time.Minute
	// changedLasts is how long a key whose type has changed stays on screen as one that cannot be read, unless it is found again.
	changedLasts = 10 * time.Second
)

// isEmptied reports whether the server was emptied lately, when the keys of so many trackers are deleted at now.
func (l *limiters) isEmptied(now limiter.Instant, deleted int) bool {
	if deleted >= fewDeleted && 2*deleted > len(l.trackers) {
		l.emptied = now
	}
	return l.emptied > 0 && now.Sub(l.emptied) < emptiedLasts
}

// mostUnlikely bounds how many patterns of keys that are not limiters are remembered.
const mostUnlikely = 4096

// leave removes a tracker, whose key is one of a group that is not watched.
func (l *limiters) leave(t *tracked, to *unwatched, g model.KeyGroup, now limiter.Instant) {
	name, found := t.tracker.Name, &t.tracker.Found
	delete(l.trackers, name)
	to.put(name, &leftOut{group: g, kind: kindOf(found.Type, found.Kind, found.Library), fixed: !found.General}, &l.patterns, now)
}

// makeRoom evicts the coldest tracker for a find that is certainly hotter, and reports whether there is room for it.
func (l *limiters) makeRoom(f decode.Found, now limiter.Instant) bool {
	k, rule := l.ranker, config.RuleOf(l.o.Rules, &f)
	known := rule != nil && rule.LimitKnown && rule.Limit.Count > 0 && f.Used >= 0
	if k.rates[f.Name] <= 0 && !(known && float64(f.Used) >= model.NearLimit*float64(rule.Limit.Count)) {
		return false
	}
	if k.coldest == nil {
		k.coldest = l.cold()
	}
	n := len(k.coldest)
	if n == 0 {
		delete(k.asked, f.Name) // look at it again soon, when there may be room
		return false
	}
	t := k.coldest[n-1]
	k.coldest = k.coldest[:n-1]
	found := &t.tracker.Found
	l.leave(t, &l.beyond, model.KeyGroup{Pattern: found.Pattern, Library: found.Library, Evidence: found.Evidence,
		Algorithm: track.Suggested(found.Kind), Why: found.Why}, now)
	k.leftOut = append(k.leftOut, t.tracker.Name)
	return true
}

// cold returns the trackers that may be evicted, the coldest last: those that are neither on
// screen nor named, and have been quiet for coldEnough readings.
func (l *limiters) cold() []*tracked {
	list := collect.Only(slices.Collect(maps.Values(l.trackers)), func(t *tracked) bool {
		return t.place == 0 && !t.tracker.Named && !t.tracker.Pressing() && t.quiet >= coldEnough && l.ranker.rates[t.tracker.Name] == 0
	})
	slices.SortFunc(list, func(a, b *tracked) int {
		return cmp.Or(cmp.Compare(a.quiet, b.quiet), strings.Compare(b.tracker.Name, a.tracker.Name))
	})
	return list
}

// unwatched holds keys that are not watched by their patterns: limiters beyond MaxKeys, and keys that
// only have the shape of limiters. Its zero value is empty.
type unwatched struct {
	names   map[string]*leftOut
	rest    map[string]*model.KeyGroup // of names beyond mostNames, by pattern
	seen    map[uint64]*model.KeyGroup // those of rest, by the hashes of its names
	groups  []model.KeyGroup
	version int // of the patterns when groups was made; -1 where a name has come since
}

// leftOut is a key that is not watched.
type leftOut struct {
	group   model.KeyGroup // the key alone
	kind    string         // what the patterns tell names apart by
	faint   bool           // the key says little
	fixed   bool           // its library gives the pattern
	version int            // of the patterns when they gave it
}

// fewFaint is how many keys of a pattern are alike by chance, where each says little.
const fewFaint = 3

const (
	mostNames = 4096    // that are kept to be put into groups anew when patterns change
	mostSeen  = 1 << 20 // further ones that are counted
)

var seed = maphash.MakeSeed()

// len returns how many keys there are.
func (u *unwatched) len() int { return len(u.names) + len(u.seen) }

// add adds the key of a find. kind tells names of one pattern apart.
func (u *unwatched) add(f *decode.Found, kind string, p *naming.Patterns, now limiter.Instant) {
	k := &leftOut{kind: kind, faint: f.Faint, fixed: !f.General()}
	k.group = model.KeyGroup{Library: f.Library, Evidence: f.Evidence, Algorithm: track.Suggested(f.Kind), Why: f.Why()}
	if f.Match != nil {
		k.group.Algorithm = f.Match.Algorithm
	}
	if k.fixed {
		k.group.Pattern = f.Pattern()
	}
	u.put(f.Name, k, p, now)
}

// put adds a name with what is known of it.
func (u *unwatched) put(name string, k *leftOut, p *naming.Patterns, now limiter.Instant) {
	h := maphash.String(seed, name)
	if u.names[name] != nil || u.seen[h] != nil {
		return
	}
	k.group.Example, k.group.Examples, k.group.Keys = name, []string{name}, 1
	if len(u.names) < mostNames {
		collect.Put(&u.names, name, k)
		u.version = -1
		return
	}
	if g := k.of(p, now); len(u.seen) < mostSeen {
		collect.Put(&u.seen, h, merge(&u.rest, g))
		u.version = -1
	}
}

// of returns the key as a group of its pattern.
func (k *leftOut) of(p *naming.Patterns, now limiter.Instant) *model.KeyGroup {
	if k.group.Pattern == "" || !k.fixed && k.version != p.Version {
		k.group.Pattern, k.version = p.Of(k.group.Example, k.kind, now), p.Version
	}
	return &k.group
}

// remove forgets a name that is watched now.
func (u *unwatched) remove(name string) {
	h := maphash.String(seed, name)
	if g := u.seen[h]; g != nil {
		g.Keys--
	} else if u.names[name] == nil {
		return
	}
	delete(u.seen, h)
	delete(u.names, name)
	u.version = -1
}

// merge adds a group to those of the same pattern, and returns the one of both.
func merge(all *map[string]*model.KeyGroup, g *model.KeyGroup) *model.KeyGroup {
	if was := (*all)[g.Pattern+"\x00"+g.Library]; was != nil {
		was.Keys, was.Example = was.Keys+g.Keys, min(was.Example, g.Example)
		if len(was.Examples) < 8 {
			was.Examples = append(slices.Clip(was.Examples), g.Example)
		}
		return was
	}
	both := collect.Entry(all, g.Pattern+"\x00"+g.Library)
	*both = *g
	return both
}

// list returns the groups, those with most keys first. The slice is not changed later.
func (u *unwatched) list(p *naming.Patterns, now limiter.Instant) []model.KeyGroup {
	if u.version == p.Version {
		return u.groups
	}
	var all map[string]*model.KeyGroup
	sound := make(map[string]bool)
	for _, k := range u.names {
		g := k.of(p, now)
		merge(&all, g)
		sound[g.Pattern] = sound[g.Pattern] || !k.faint
	}
	for _, g := range u.rest {
		if g.Keys > 0 {
			merge(&all, g)
		}
	}
	u.groups = make([]model.KeyGroup, 0, len(all))
	for _, g := range all {
		if sound[g.Pattern] || g.Keys >= fewFaint {
			u.groups = append(u.groups, *g)
		}
	}
	slices.SortFunc(u.groups, func(a, b model.KeyGroup) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), strings.Compare(a.Pattern, b.Pattern))
	})
	u.version = p.Version
	return u.groups
}
