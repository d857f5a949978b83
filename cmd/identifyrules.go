package cmd

import (
	"fmt"
	"slices"
	"strings"

	"ratescope/feed/config"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
)

// entriesOf returns the rules for the groups of r with the name of a key of each. Groups whose
// names follow one pattern get one rule that says what is the same for all of them, and a pattern
// comes before one that its keys fit, too. A limit that is not in Redis is a comment that says
// what to write.
func entriesOf(r limitersFound) (entries []config.Entry, examples []string) {
	type one struct {
		entry   config.Entry
		example string
		keys    int
		grades  []string
		hint    string
	}
	var all []*one
	at := make(map[string]*one)
	for i := range r.Groups {
		g := &r.Groups[i]
		e := g.entry(r.at)
		hint := ""
		if g.Rule.Limit == "" && g.missing {
			hint = fmt.Sprintf("limit: %s   it is not in Redis: take it from the application", g.limitHint())
			if g.burstHint() != "" {
				hint += ", and beside it burst: CAPACITY"
			}
		}
		x := at[e.Match+e.Name]
		if x == nil {
			x = &one{entry: e, example: string(g.example), hint: hint}
			at[e.Match+e.Name] = x
			all = append(all, x)
		}
		x.keys += g.Keys
		if !slices.Contains(x.grades, g.Evidence) {
			x.grades = append(x.grades, g.Evidence)
		}
		if x.entry.Burst != e.Burst { // a limit without its burst says something else
			x.entry.Burst, x.entry.Limit, e.Limit = 0, "", ""
		}
		for _, word := range [...]struct{ of, is *string }{
			{&x.entry.Library, &e.Library}, {&x.entry.Algorithm, &e.Algorithm}, {&x.entry.Limit, &e.Limit}, {&x.entry.Window, &e.Window},
			{&x.hint, &hint},
		} {
			if *word.of != *word.is {
				*word.of = ""
			}
		}
		if x.entry.Limit == "" {
			x.entry.Burst = 0
		}
	}
	for i := range all { // first match wins
		for j := i + 1; j < len(all); j++ {
			if config.MatchGlob(all[i].entry.Match, all[j].example) && !config.MatchGlob(all[j].entry.Match, all[i].example) {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	for _, x := range all {
		x.entry.Above, x.entry.Below = fmt.Sprintf("%s, %s", format.Plural(x.keys, "key"), strings.Join(x.grades, " and ")), x.hint
		if slices.Contains(x.grades, model.Likely.String()) {
			x.entry.Above += ": remove this rule if they are no limiters"
		}
		entries, examples = append(entries, x.entry), append(examples, x.example)
	}
	return entries, examples
}

// entry returns the rule for the group: one with name where the names of counters of no library hold their window, which
// is over when the next one begins.
func (g *foundGroup) entry(now limiter.Instant) config.Entry {
	if g.Library == nil && orDash(g.Algorithm) == limiter.FixedWindow.String() {
		e, windowed, ok := config.Named(string(g.example), string(g.Pattern), now)
		if e.Read, e.Limit = "value", g.Rule.Limit; e.Limit != "" {
			e.Window = ""
		}
		if _, err := e.Rule(); ok && windowed && err == nil {
			return e
		}
	}
	return config.Entry{
		Match: string(g.Rule.Match), Library: g.Rule.Library, Algorithm: g.Rule.Algorithm,
		Limit: g.Rule.Limit, Burst: g.Rule.Burst, Window: g.Rule.Window,
	}
}
