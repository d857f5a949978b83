package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/internal/backoff"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/report"
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
		if _, err := e.Rule(); err != nil || e.Name == "" && e.Library == "" && e.Algorithm == "" {
			continue // a rule lacks its limit, or would say nothing of how its keys are read
		}
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
	if g.suggested != nil {
		return *g.suggested
	}
	if g.Library == nil && (orDash(g.Algorithm) == limiter.FixedWindow.String() || g.read != "") {
		e, windowed, ok := config.Named(string(g.example), string(g.Pattern), 0, now)
		if e.Read, e.Limit = cmp.Or(g.read, "value"), g.Rule.Limit; e.Limit != "" {
			e.Window = ""
		}
		if _, err := e.Rule(); ok && (g.read != "" || windowed && err == nil) {
			return e
		}
	}
	return config.Entry{
		Match: string(g.Rule.Match), Library: g.Rule.Library, Algorithm: g.Rule.Algorithm,
		Limit: g.Rule.Limit, Burst: g.Rule.Burst, Window: g.Rule.Window,
	}
}

// settling is how long keys are looked at to settle which way they count, and lookEvery how often.
const (
	settling  = 8 * time.Second
	lookEvery = 400 * time.Millisecond
)

// suggest looks at some keys of each group of which no library and no algorithm is known, for the reading that fits
// them best, and completes the rules of all groups. Where keys were watched for long, it looks for a while, so that what they do
// tells which way they count.
func (i *limitersFound) suggest(ctx context.Context, p *program, long time.Duration) error {
	o, err := p.Options()
	if err != nil {
		return err
	}
	var open []*foundGroup
	var keys []string
	for at, list := range [][]foundGroup{i.Groups, i.Candidates} {
		for n := range list {
			if g := &list[n]; g.Library == nil && g.read == "" && (g.Algorithm == nil || at == 1) && len(o.URLs) > 0 {
				if g.examples = append([]string{string(g.example)}, g.examples...); at == 1 || long == 0 {
					g.examples = g.examples[:1]
				}
				open, keys = append(open, g), append(keys, g.examples...)
			}
		}
	}
	looks := make([][]decode.Sample, len(keys))
	var now limiter.Instant
	for begun := limiter.Instant(0); len(keys) > 0 && (begun == 0 || now.Sub(begun) < min(long, settling)); {
		if begun != 0 && backoff.Sleep(ctx, lookEvery) != nil {
			break
		}
		var samples []decode.Sample
		if samples, now, err = samplesOf(ctx, o, keys); err != nil {
			return err
		}
		begun = cmp.Or(begun, now)
		for n := range samples {
			looks[n] = append(looks[n], samples[n])
		}
	}
	for _, g := range open {
		its := looks[:len(g.examples)]
		looks = looks[len(its):]
		for _, s := range slices.Backward(its[0]) {
			if list := config.Settle(config.Suggest(&s, string(g.Pattern), now), its); s.Exists() && len(list) > 0 {
				g.suggested = &list[0].Entry
				if limit, err := limiter.ParseLimit(list[0].Entry.Limit); err == nil {
					g.Limit, g.Window, g.LimitFrom = new(limit.Count), new(report.Millis(limit.Window)), new(model.LimitInferred.String())
				}
				break
			}
		}
	}
	for _, list := range [][]foundGroup{i.Groups, i.Candidates} {
		for n := range list {
			if e := list[n].entry(i.at); e.Name != "" {
				list[n].Rule.words, _ = e.Words()
			}
		}
	}
	return nil
}

// ruleLine returns the rule with name for the group as the configuration has it, with what a person has to put
// in; "" where the rule is no such one.
func (g *foundGroup) ruleLine() string {
	if g.Rule.words == nil {
		return ""
	}
	e := config.Entry{}
	if text, err := yaml.Marshal(g.Rule.words); err != nil || yaml.Unmarshal(text, &e) != nil {
		return ""
	}
	if e.Limit == "" {
		e.Limit, e.Window = "<LIMIT>/"+cmp.Or(e.Window, "<WINDOW>"), ""
	}
	_, line := e.Words()
	return line
}
