package track

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/naming"
)

// infer gives the inference engine a reading of a likely limiter, and adopts the terms that are sure for the limiters of its pattern.
// Terms that a rule gives are not changed. It reports whether the count is what is left, so that what is used is not known.
func (l *Tracker) infer(r *model.Reading) (left bool) {
	single, isSingle := l.decoder.(*singleDecoder)
	if l.inferred == nil || l.Found.Evidence != model.Likely && !(isSingle && l.Found.Evidence == model.Told) {
		return false
	}
	seen := *r
	seen.Type, seen.TTL, seen.Target, seen.Pattern = l.key.typ, l.key.ttl, l.aim.target, l.Found.Pattern
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
	t := &l.aim.target
	if t.Algorithm == limiter.FixedWindow && l.kind == decode.Single && l.aim.inferWindow(terms.Window) {
		l.notes.set(model.WindowInferred, t.Window > 0)
	}
	if isLog && l.aim.inferWindow(terms.Window) && t.Window == 0 {
		r.State.Log = nil // it is not known which of its entries count
	}
	l.aim.inferLimit(&terms, &l.notes)
	r.Unsettled = slices.Clone(terms.Settle)
	return terms.Left
}

// Unlikely reports whether a likely limiter turned out not to be a limiter.
func (l *Tracker) Unlikely() bool { return l.unlikely && l.Found.Evidence == model.Likely && !l.Named }

// withhold removes the figures of a limiter that is told without its layout, or of a log, where its keys say that the
// plain reading of its form is wrong, and notes why: its name holds a window, it counts down, its times
// are the ends of leases, or it is not known how much a request counts. It reports whether it removed them.
func (l *Tracker) withhold(r *model.Reading) bool {
	unit := model.Note("")
	if r.Err == "" && l.aim.target.LimitKnown && numbers(l.decoder) != nil {
		unit = l.inferred.unit(l.Found.Pattern, l.aim.target.Limit.Count)
	}
	l.notes.say(model.UnitUnknown, unit)
	withheld := l.misread(r) || unit != ""
	l.withheld, r.Partial = withheld && !r.Partial, r.Partial || withheld
	return withheld
}

// numbers returns those in the keys of a limiter that no library's layout tells, where it is not told how many of them one request counts.
func numbers(d decoder) []int64 {
	switch b := d.(type) {
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
	told, likely := l.Found.Evidence == model.Told, l.Found.Evidence == model.Likely
	if r.Err != "" || !l.plain() && !(log && told) && !(likely && l.aim.target.LimitKnown) {
		return false
	}
	var named, down, leases, endless, blocked, timed, bits, part, weighed bool
	of := l.Found.Pattern
	windows, left, expires := Sign{Pattern: of}, Sign{Pattern: of, Left: true}, Sign{Pattern: of, Expires: true}
	switch b := l.decoder.(type) {
	case *singleDecoder:
		seen, w, short := l.inferred.Terms(of), l.aim.target.Window, shortNumber().MatchString(b.key)
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
		endless = b.beyond || r.TTL == model.Forever && r.Type != "none" && l.inferred != nil && !l.inferred.Shown(expires, r.At)
		parts := Sign{Pattern: of, Parts: true}
		if b.part {
			l.inferred.Show(parts, r.At)
		}
		blocked, timed, bits = b.blocked, b.timed, b.bits
		part = l.inferred.Shown(parts, r.At) || told && r.State.Current == 1 && naming.Speaks("blocks", b.key) // what it blocks may be gone
	case *counterDecoder: // the number at the end of its name may be the end of a window
		w := l.aim.target.Window
		named = b.own == limiter.Unknown && slices.ContainsFunc(b.starts, func(start limiter.Instant) bool {
			if start > r.At.Add(decode.ClientAhead) || b.early {
				l.inferred.Show(windows, r.At)
			}
			return start > r.At || w > 0 && start.Floor(w) != start
		}) || l.inferred.Shown(windows, r.At) && b.own == limiter.Unknown
	case *logDecoder:
		n, ends := len(r.State.Log), Sign{Pattern: l.Found.Pattern, Leases: true}
		if n > 0 && r.State.Log[n-1].At > r.At.Add(max(decode.ClientAhead, l.aim.target.Window/4)) {
			l.inferred.Show(ends, r.At)
		}
		leases = n > 0 && (!l.aim.described() && naming.Speaks("leases", l.Name) || l.inferred.Shown(ends, r.At))
	case *streamDecoder:
		weighed = b.tail.weighed
	}
	if down = down && told; told { // what is likely, infer reads as what is left
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
		l.notes.set(model.OverLimit, false)
		r.Notes = l.notes.list()
	}
}

// comesRound says whether a short number in a name is that of the window at an instant.
func comesRound(key string, window time.Duration, at limiter.Instant) bool {
	_, ok := naming.Rounds(key, window, at)
	return ok
}

// shortNumber finds what may be the number of a window that comes round.
var shortNumber = collect.Regexp(`(?:^|[:_./|-])\d{1,4}(?:$|[:_./|-])`)

// notes are those of all further readings. The zero value has none.
type notes struct {
	on map[model.Note]model.Note // by what they are about: themselves, or for all that say
}

// set adds a note, or removes it.
func (t *notes) set(n model.Note, on bool) { t.say(n, collect.If(on, n, "")) }

// say adds a note in place of the one about the same thing; "" is none.
func (t *notes) say(about, n model.Note) {
	if delete(t.on, about); n != "" {
		collect.Put(&t.on, about, n)
	}
}

// list returns the notes in a fixed order, nil for none.
func (t *notes) list() []model.Note { return slices.Sorted(maps.Values(t.on)) }

// ahead adds a note if entries are in the future: how far the clocks of a limiter's writers are ahead of the server's, at most. Clocks
// that are behind cannot be detected, because their entries look like late ones. what is the source of the instants, "scores" or "ids".
func (t *notes) ahead(what string, now limiter.Instant, entries []limiter.Entry) {
	most, skew := time.Duration(0), model.Note("")
	if n := len(entries); n > 0 {
		most = entries[n-1].At.Sub(now)
	}
	if t.set(model.FutureScore, most > futureAllowed); most > futureAllowed {
		skew = model.Note(what + " up to " + format.Spaced(most) + " in the future (writer's clock)")
	}
	t.say("skew", skew)
}

// Figure is an inferred number with the strength of its evidence. The zero value is unknown.
type Figure[T any] struct {
	Value T
	Known bool // there is evidence for Value
	Sure  bool // there is enough evidence to show Value, marked as inferred
}

// Verdict says whether keys behave like limiters.
type Verdict uint8

const (
	Untold   Verdict = iota // not known yet
	Limiters                // they count
	NoLimits                // none of them counted for two windows, or they count down
)

// Terms holds the inferred terms of the limiters of one pattern.
type Terms struct {
	Window   Figure[time.Duration]
	Limit    Figure[int64]         // requests in a window
	Interval Figure[time.Duration] // a GCRA's emission interval
	Burst    Figure[int64]         // of a GCRA
	Left     bool                  // the counts are what is left, of a limit that they do not tell
	Verdict  Verdict
	Up, Down bool     // counts rise, or fall, within their windows
	Settle   []string // how to settle the figures that are not sure, in clauses
}

// Engine infers the terms of limiters whose keys do not contain them, from readings grouped by the pattern of their
// names: the window from expiries and their resets, the limit from the counts at which windows stop, the
// emission interval of a TAT from its steps. Its only clock is the instants of the readings.
//
// A figure is sure only if several keys agree and no reading contradicts it. Everything else is unknown, and Terms.Settle says what would
// settle it. No figure is better than a wrong one. The zero value has seen no reading. It is used by one goroutine.
type Engine struct {
	groups map[string]*group
	shown  map[Sign]limiter.Instant // when a key of a pattern showed it last
	units  map[string]*config.Units // of the counts of a pattern's keys
	fresh  bool
}

// count notes what a limiter of a pattern counts by the numbers in its keys, and what came since its previous reading.
func (e *Engine) count(pattern string, counts []int64, came []model.Arrival) {
	if e == nil || pattern == "" || len(counts) == 0 || len(e.units) >= mostGroups && e.units[pattern] == nil {
		return
	}
	u := collect.Entry(&e.units, pattern)
	was := *u
	for _, n := range slices.Concat(counts, collect.Map(came, func(a model.Arrival) int64 { return a.N })) {
		u.Count(n)
	}
	e.fresh = e.fresh || u.Step > 1 || u.Step != was.Step || u.Least != was.Least || u.Most != was.Most
}

// unit says why it is not known how much a request adds to the counts of a pattern, which the limit is of; "" where nothing says so.
func (e *Engine) unit(pattern string, limit int64) model.Note {
	if e == nil || e.units[pattern] == nil || limit <= 0 {
		return ""
	}
	switch u := e.units[pattern]; {
	case u.Step > 1 && (u.Chance() >= 20 || u.Most > limit && u.Chance() >= 8):
		return model.Note(fmt.Sprintf(model.UnitUnknown, u.Step))
	case u.Least > limit && u.Most/20 > limit:
		return model.UnitAbove
	}
	return ""
}

// Sign is what a key shows of all keys of its pattern: that their times are the ends of leases, their counts what is left, that
// they expire, or that short numbers in their names are ids and no windows that come round, as the minute of the hour does. Where
// it is none of these it is that their names hold windows.
type Sign struct {
	Pattern                           string
	Leases, Left, Expires, IDs, Parts bool
}

// lasting is how long a sign holds, since the clock of one client may have given it.
const lasting = time.Minute

// Show notes that a key shows a sign at an instant.
func (e *Engine) Show(s Sign, at limiter.Instant) {
	if e == nil || s.Pattern == "" || len(e.shown) >= mostGroups && e.shown[s] == 0 {
		return
	}
	e.fresh = e.fresh || at.Sub(e.shown[s]) > lasting
	collect.Put(&e.shown, s, at)
}

// Shown reports whether a key has shown a sign not long before an instant.
func (e *Engine) Shown(s Sign, at limiter.Instant) bool {
	return e != nil && e.shown[s] != 0 && (s.IDs || at.Sub(e.shown[s]) <= lasting)
}

// Signs returns how many signs were ever shown.
func (e *Engine) Signs() int { return len(e.shown) }

// Fresh reports whether a sign was shown that did not hold when Fresh was called last.
func (e *Engine) Fresh() bool {
	was := e.fresh
	e.fresh = false
	return was
}

// Bounds of the memory, since with hostile names every key could have its own pattern.
const (
	mostGroups = 1024
	mostKeys   = 256 // keys of one pattern; further keys are ignored
)

// group holds the limiters of one pattern.
type group struct {
	algorithm limiter.Algorithm
	keys      map[uint64]*key // by the hash of their names
	first     limiter.Instant // the first reading
	last      limiter.Instant // the latest reading
	windows   windows
	counts    counts
	steps     steps
}

// key holds the previous reading of one limiter.
type key struct {
	at      limiter.Instant // of the reading
	present bool            // the key existed
	count   int64
	expiry  limiter.Instant // 0 for none
	mark    limiter.Instant // the TAT, or a log's oldest entry

	born    limiter.Instant // the latest possible start of its window; 0 if the start was not seen
	reached limiter.Instant // when count was first read, or a log's newest entry
	rises   int             // readings of the window in which the count had risen
	ceiling int64           // backlog of a TAT, in units
	stood   int             // changes of the TAT in a row with this backlog
}

// Span is what a key says of time beside its reading: the window that its name says it counts in, or of a log, as Start, its
// oldest entry. An instant of 0 is not known.
type Span struct{ Start, End limiter.Instant }

// Learn takes a reading of a limiter whose terms are not known otherwise. The readings of one
// key must come in the order of their instants.
func (e *Engine) Learn(r *model.Reading, says Span) {
	if r.Pattern == "" || r.Err != "" || r.Partial || r.At <= 0 {
		return
	}
	g := e.groups[r.Pattern]
	if g == nil {
		if len(e.groups) >= mostGroups {
			return
		}
		g = &group{first: r.At}
		collect.Put(&e.groups, r.Pattern, g)
	}
	g.learn(maphash.String(seed, r.Key), r, says)
}

var seed = maphash.MakeSeed()

// learn takes a reading of the key with the hash id.
func (g *group) learn(id uint64, r *model.Reading, says Span) {
	if g.algorithm != r.Target.Algorithm {
		*g = group{algorithm: r.Target.Algorithm, first: r.At}
	}
	was, seen := g.keys[id]
	if !seen && len(g.keys) >= mostKeys {
		return
	}
	now := key{at: r.At, present: r.Type != "none", count: r.State.Current, mark: r.State.TAT}
	if r.TTL > 0 && now.present {
		now.expiry = r.At.Add(r.TTL)
	}
	if was == nil {
		was = &key{}
		collect.Put(&g.keys, id, was)
	}
	g.last = max(g.last, r.At)
	switch g.algorithm {
	case limiter.FixedWindow:
		if g.learnCount(id, was, &now, says); says.Start != 0 && !now.present {
			delete(g.keys, id) // the next window is another key
			return
		}
	case limiter.SlidingLog:
		if n := len(r.State.Log); n > 0 {
			now.mark, now.reached = says.Start, r.State.Log[n-1].At
		}
		g.windows.learnLog(was, &now)
		g.learnRoll(id, was, &now, r.State.Log)
	case limiter.GCRA:
		g.steps.learnTAT(was, &now)
	}
	*was = now
}

// Terms returns the inferred terms of the limiters of a pattern.
func (e *Engine) Terms(pattern string) Terms {
	if e == nil || e.groups[pattern] == nil {
		return Terms{}
	}
	g := e.groups[pattern]
	var t Terms
	switch g.algorithm {
	case limiter.FixedWindow:
		t.Window = g.windows.figure()
		if t.Left = g.left(); !t.Left {
			t.Limit = g.counts.limit(t.Window)
		}
		t.Verdict = g.verdict(t.Window)
		c := &g.counts
		t.Up, t.Down = c.rises > c.falls, (c.falls > 0 || c.zeros > 0) && c.falls >= c.rises
	case limiter.SlidingLog:
		t.Window = g.windows.figure()
		t.Limit = g.counts.limit(t.Window)
	case limiter.GCRA:
		t.Interval, t.Burst = g.steps.interval(), g.steps.burst()
	}
	t.settle(g.algorithm)
	return t
}

// toSettle says how to settle the two figures of an algorithm's limiters.
var toSettle = map[limiter.Algorithm][]string{
	limiter.FixedWindow: {"the window: watch until two windows of one key have begun",
		"the limit: watch until three keys stop at one count at other times of their windows, or say it if denied requests count too"},
	limiter.SlidingLog: {"the window: watch until requests have removed old entries of several keys",
		"the limit: watch until three keys stay at the same count while their entries pass"},
	limiter.GCRA: {"the interval: watch until eight changes of one, two or more units were seen",
		"the burst: watch until three keys are denied for a while, or say limit and burst in its rule"},
	limiter.TokenBucket: ofBuckets, limiter.LeakyBucket: ofBuckets,
}

var ofBuckets = []string{"the rate and the capacity: a bucket holds what is left after a request, and never how much fits"}

// settle fills in Settle for the figures that are not sure.
func (t *Terms) settle(a limiter.Algorithm) {
	sure := [...]bool{t.Window.Sure || t.Interval.Sure, t.Limit.Sure || t.Burst.Sure}
	for i, what := range toSettle[a] {
		if !sure[i] {
			t.Settle = append(t.Settle, what)
		}
	}
}
