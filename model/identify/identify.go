// Package identify groups the limiters that were found on a server by library and by the pattern
// of their names, and says for each group what a person has to add.
package identify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Library is what is to be said of a library beside its keys.
type Library struct {
	Version string   // the one that its decoder was checked with; "" none
	Silent  []string // what it does not record
}

// Group is limiters of one library whose names begin alike.
type Group struct {
	Pattern     string
	Keys        int
	Library     string // "" not known
	Version     string
	Evidence    model.Evidence
	Why         []string
	Algorithm   limiter.Algorithm
	Window      time.Duration // 0 not known, or not the same for all
	Limit       limiter.Limit // where LimitFrom is not NoLimit, and the same for all
	LimitFrom   model.LimitFrom
	Left        bool // the counts are what is left
	Varies      bool // each limiter has a limit of its own, which is known
	NotRecorded []string
	Example     string   // the name of one of the limiters
	Examples    []string // the names of some
	Bans        []string // of some keys that speak of bans
	Unsettled   []string // what watching has yet to settle; nil where nothing is inferred
}

// Report is what a server holds.
type Report struct {
	Groups []Group
	// Unknown counts the keys that were not looked at: they could not be read, or so many of
	// their form were no limiters that only some of them were.
	Unknown int64
	// Sampled counts those of them that are named and formed like limiters that are only likely: of
	// so many only some are looked at.
	Sampled int64
	// Candidates are keys that have the shape of limiters, of which a person has to say what they are.
	Candidates []Group
	// NotLimiters counts the keys that were looked at and are neither limiters nor candidates.
	NotLimiters int64
}

// Of groups the readings of one pass over the keys. libraries says what is known of each library
// by its name.
func Of(readings []model.Reading, sweep model.Sweep, libraries func(name string) (Library, bool)) Report {
	type id struct {
		pattern, library string
		evidence         model.Evidence
		algorithm        limiter.Algorithm
	}
	var patterns naming.Patterns // those of readings are as old as these
	kind := func(r *model.Reading) string { return r.Target.Evidence.String() + r.Target.Algorithm.String() + " " }
	for i := range readings {
		if r := &readings[i]; r.Target.Library == "" {
			patterns.Learn(r.Key, kind(r), r.At)
		}
	}
	groups := make(map[id]*Group)
	members := int64(0)
	for i := range readings {
		r := &readings[i]
		members += int64(max(len(r.Members), 1))
		t := &r.Target
		key := id{cmp.Or(r.Pattern, r.Key), t.Library, t.Evidence, t.Algorithm}
		if t.Library == "" {
			key.pattern = patterns.Of(r.Key, kind(r), r.At)
		}
		g := groups[key]
		if g == nil {
			g = groupOf(&model.KeyGroup{Pattern: key.pattern, Library: t.Library, Evidence: t.Evidence, Why: r.Why, Algorithm: t.Algorithm,
				Example: r.Key}, libraries)
			g.Window, g.Limit, g.LimitFrom, g.Unsettled, g.Bans = t.Window, t.Limit, t.LimitFrom, r.Unsettled, sweep.Bans
			groups[key] = g
		}
		g.add(r)
	}
	rep := Report{Groups: make([]Group, 0, len(groups))}
	// Candidates that are named and formed as likely limiters are more of these.
	for i, b := range slices.Concat(sweep.Beyond, sweep.Candidates) {
		members += int64(b.Keys)
		var same *Group
		for at, g := range groups {
			if at.pattern == b.Pattern && at.library == b.Library && at.evidence == b.Evidence && (same == nil || at.algorithm == b.Algorithm) {
				same = g
			}
		}
		g := groupOf(&b, libraries)
		switch g.Bans = sweep.Bans; {
		case same != nil:
			same.Keys += b.Keys
		case i < len(sweep.Beyond):
			groups[id{b.Pattern, b.Library, b.Evidence, b.Algorithm}] = g
		default:
			rep.Candidates = append(rep.Candidates, *g)
		}
	}
	rep.Groups = collect.Map(slices.Collect(maps.Values(groups)), func(g *Group) Group { return *g })
	slices.SortFunc(rep.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(grades[a.Evidence], grades[b.Evidence]), cmp.Compare(b.Keys, a.Keys),
			strings.Compare(a.Pattern, b.Pattern), strings.Compare(a.Library, b.Library), cmp.Compare(a.Algorithm, b.Algorithm))
	})
	rep.Unknown, rep.Sampled = sweep.Skipped, sweep.Sampled
	rep.NotLimiters = max(sweep.Total-members-sweep.Skipped, 0)
	return rep
}

// groupOf returns keys as a group of which no figures are known.
func groupOf(k *model.KeyGroup, libraries func(name string) (Library, bool)) *Group {
	g := &Group{
		Pattern: k.Pattern, Keys: k.Keys, Library: k.Library, Evidence: k.Evidence, Why: k.Why, Algorithm: k.Algorithm, Example: k.Example,
		Examples: k.Examples,
	}
	if l, ok := libraries(k.Library); ok {
		g.Version, g.NotRecorded = l.Version, l.Silent
	}
	return g
}

// mostExamples bounds Group.Examples.
const mostExamples = 8

// grades are the orders of the groups by their evidence, the best first.
var grades = [...]int{model.Known: 0, model.Told: 1, model.Likely: 2}

// add counts one limiter; what is not the same for all is not said of the group.
func (g *Group) add(r *model.Reading) {
	g.Keys++
	t := &r.Target
	g.Left = g.Left || slices.Contains(r.Notes, model.CountsDown)
	if g.Window != t.Window {
		g.Window = 0
	}
	if g.LimitFrom != t.LimitFrom || g.Limit.Count != t.Limit.Count || g.Limit.Burst != t.Limit.Burst {
		g.Varies = (g.Varies || g.LimitFrom != model.NoLimit) && t.LimitFrom != model.NoLimit
		g.Limit, g.LimitFrom = limiter.Limit{}, model.NoLimit
	}
	switch better := naming.Shows(r.Key, r.At) - naming.Shows(g.Example, r.At); {
	case better > 0: // those before are of windows that are over
		g.Example, g.Examples = r.Key, []string{r.Key}
	case better == 0 && len(g.Examples) < mostExamples:
		g.Example, g.Examples = min(g.Example, r.Key), append(g.Examples, r.Key)
	}
}

// Missing says whether a rule has to say something for the group to be measured against a limit.
func (g *Group) Missing() bool {
	return g.LimitFrom == model.NoLimit && !g.Varies || g.Evidence == model.Likely
}

// Fit is a reading that fits the limiters of a group, as a rule of the configuration.
type Fit struct {
	As      string    // what the keys are then
	Note    string    // what the rule does not settle; "" nothing
	Unsure  string    // what tells it from those beside it in a list that have the same words, and fit as well; "" none does
	Rule    string    // as the configuration has it
	Figures []Figures // what it gives for some of the keys now

	// Write writes the rule, and applies it; nil while its limit is not told. The error is one sentence.
	Write func() (Taught, error)
}

// Figures are what a reading gives for one key.
type Figures struct {
	Key   string
	Shape string // what the key is, without what it holds
	Says  string // how much is used, and when it is free; or why that is not known
}

// Taught is a rule that was written.
type Taught struct {
	Where string       // the file; "" where there is no folder for it, so that the rule ends with the program
	Undo  func() error // takes the rule back; the error is one sentence
}
