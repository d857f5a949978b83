package rows

import (
	"slices"
	"strings"

	"ratescope/model"
	"ratescope/tui/widget"
)

// filter is what the rows are chosen by: letters of the name, and words with a colon that
// say more: state:throttled, note:expiry, lib:upstash, alg:gcra.
type filter struct {
	text   string // as typed
	name   string
	wanted []qualifier
}

// qualifier is a word with a colon.
type qualifier struct {
	value string
	of    func(l *List, k *model.Watched) []string
	fits  func(text, value string) bool
}

// qualifiers are the words before the colon.
var qualifiers = map[string]func(l *List, k *model.Watched) []string{
	"state": func(l *List, k *model.Watched) []string {
		states := []string{strings.ReplaceAll(k.State(l.boards.At()).String(), " ", "-")}
		if states[0] == model.Throttled.String() {
			states = append(states, "denied") // as it was called before
		}
		if k.Reading.Fault() != "" {
			states = append(states, sick)
		}
		return states
	},
	"note": func(_ *List, k *model.Watched) []string {
		var notes []string
		for _, n := range k.Reading.Notes {
			notes = append(notes, string(n))
		}
		return notes
	},
	"lib": func(_ *List, k *model.Watched) []string { return []string{k.Reading.Target.Library} },
	"alg": func(_ *List, k *model.Watched) []string {
		return []string{k.Reading.Target.Algorithm.Short(), k.Reading.Target.Algorithm.Title()}
	},
}

// Suggestions returns what tab completes a filter to.
func Suggestions() []string {
	var list []string
	for _, name := range model.KeyStateNames() {
		list = append(list, "state:"+strings.ReplaceAll(name, " ", "-"))
	}
	return append(list, "state:"+sick, "note:expiry", "lib:", "alg:")
}

// sick is the state of a key with a fault, beside its own.
const sick = "sick"

// parseFilter splits a filter at its spaces.
func parseFilter(text string) filter {
	f := filter{text: text}
	var names []string
	for _, word := range strings.Fields(text) {
		key, value, found := strings.Cut(word, ":")
		if of := qualifiers[strings.ToLower(key)]; found && of != nil {
			fits := strings.Contains
			if strings.EqualFold(key, "state") { // else "throttled" would list what was throttled too
				fits = strings.HasPrefix
			}
			f.wanted = append(f.wanted, qualifier{strings.ToLower(value), of, fits})
			continue
		}
		names = append(names, word)
	}
	f.name = strings.Join(names, " ")
	return f
}

// match says how well a key fits.
func (f *filter) match(l *List, k *model.Watched) widget.Match {
	for _, q := range f.wanted {
		if !slices.ContainsFunc(q.of(l, k), func(v string) bool { return v != "" && q.fits(strings.ToLower(v), q.value) }) {
			return widget.NoMatch
		}
	}
	if f.name == "" {
		return widget.WholeMatch
	}
	m, _ := widget.Rank(k.Reading.Key, f.name)
	return m
}

// Fits reports whether what is about a key, in words, fits the filter: its name or the words
// hold what is typed, and the key is as the words with a colon say.
func (l *List) Fits(key, words string) bool {
	f := l.filter
	if len(f.wanted) > 0 {
		k := l.boards.Board().Key(key)
		if k == nil {
			return false
		}
		state := filter{wanted: f.wanted}
		if state.match(l, k) == widget.NoMatch {
			return false
		}
	}
	for _, text := range []string{key, words} {
		if m, _ := widget.Rank(text, f.name); m >= widget.InsideMatch {
			return true
		}
	}
	return f.name == ""
}
