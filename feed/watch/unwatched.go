package watch

import (
	"cmp"
	"slices"
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/naming"
)

// unwatched holds keys that are not watched by their patterns: limiters beyond MaxKeys, and keys that
// only have the shape of limiters. Its zero value is empty.
type unwatched struct {
	names   map[string]*model.KeyGroup // one for each name, as if it were a group
	kinds   map[string]string          // what the patterns tell the names apart by
	faint   map[string]bool            // names of which each says little
	rest    map[string]*model.KeyGroup // of names beyond mostNames, by pattern
	seen    map[uint64]bool            // names of rest
	groups  []model.KeyGroup
	version int // of the patterns when groups was made; -1 where a name has come since
}

// fewFaint is how many keys of a pattern are alike by chance, where each says little.
const fewFaint = 3

// mostNames bounds how many names are kept to be put into groups anew when patterns change.
const mostNames = 4096

// add adds the key of a find. kind tells names of one pattern apart.
func (u *unwatched) add(f *decode.Found, kind string, p *naming.Patterns, now limiter.Instant) {
	g := &model.KeyGroup{Library: f.Library, Evidence: f.Evidence, Algorithm: track.Suggested(f.Kind), Why: f.Why()}
	if f.Match != nil {
		g.Algorithm, g.Pattern = f.Match.Algorithm, f.Pattern()
	}
	if u.put(f.Name, kind, g, p, now); f.Faint && u.names[f.Name] == g {
		u.faint[f.Name] = true
	}
}

// put adds a name with what is known of it.
func (u *unwatched) put(name, kind string, g *model.KeyGroup, p *naming.Patterns, now limiter.Instant) {
	if u.names == nil {
		u.names, u.kinds = make(map[string]*model.KeyGroup), make(map[string]string)
		u.rest, u.seen, u.faint = make(map[string]*model.KeyGroup), make(map[uint64]bool), make(map[string]bool)
	}
	if u.names[name] != nil {
		return
	}
	g.Example, g.Keys = name, 1
	u.version = -1
	if len(u.names) < mostNames {
		u.names[name], u.kinds[name] = g, kind
		return
	}
	if h := hashOf(name); !u.seen[h] && len(u.seen) < maxDropped {
		u.seen[h] = true
		if g.Pattern == "" {
			g.Pattern = p.Of(name, kind, now)
		}
		merge(u.rest, g)
	}
}

// remove forgets a name that is watched now.
func (u *unwatched) remove(name string) {
	if u.names[name] != nil {
		delete(u.names, name)
		delete(u.kinds, name)
		delete(u.faint, name)
		u.version = -1
	}
}

// merge adds a group to those of the same pattern.
func merge(all map[string]*model.KeyGroup, g *model.KeyGroup) {
	id := g.Pattern + "\x00" + g.Library
	if was := all[id]; was != nil {
		was.Keys += g.Keys
		was.Example = min(was.Example, g.Example)
		return
	}
	added := *g
	all[id] = &added
}

// list returns the groups, those with most keys first. The slice is not changed later.
func (u *unwatched) list(p *naming.Patterns, now limiter.Instant) []model.KeyGroup {
	if len(u.names) == 0 || u.version == p.Version {
		return u.groups
	}
	all, sound := make(map[string]*model.KeyGroup), make(map[string]bool)
	for name, g := range u.names {
		one := *g
		if one.Pattern == "" {
			one.Pattern = p.Of(name, u.kinds[name], now)
		}
		merge(all, &one)
		sound[one.Pattern] = sound[one.Pattern] || !u.faint[name]
	}
	for _, g := range u.rest {
		merge(all, g)
	}
	u.groups = make([]model.KeyGroup, 0, len(all))
	for _, g := range all {
		if !sound[g.Pattern] && g.Keys < fewFaint {
			continue
		}
		u.groups = append(u.groups, *g)
	}
	slices.SortFunc(u.groups, func(a, b model.KeyGroup) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), strings.Compare(a.Pattern, b.Pattern))
	})
	u.version = p.Version
	return u.groups
}
