package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/naming"
	"ratescope/model/report"
)

// readKeys is what keys could be, in the fields and the order of the JSON output.
type readKeys struct {
	Keys []readKey `json:"keys"`
}

// readKey is what one key could be. Of what it holds, only figures of readings that fit are in it.
type readKey struct {
	Key      report.Text    `json:"key"`
	Type     string         `json:"type"`
	TTL      *int64         `json:"ttl_ms"` // -1: it never expires
	Size     *int64         `json:"size"`   // bytes of a string, else elements
	Readings []reportedRead `json:"readings"`
}

// reportedRead is a reading that fits a key, with the figures that it gives now; null is not known.
type reportedRead struct {
	As        string         `json:"as"`
	Library   *string        `json:"library"`
	Algorithm *string        `json:"algorithm"`
	Used      *int64         `json:"used"`
	Limit     *int64         `json:"limit"`
	Window    *int64         `json:"window_ms"`
	Notes     []report.Text  `json:"notes"`
	Rule      map[string]any `json:"rule"`             // null where no rule is needed
	Unsure    string         `json:"unsure,omitempty"` // what tells it from others of the key
	words     string         // the rule as the configuration has it
}

func runIdentifyKeys(p *program, c *cobra.Command, f identifyFlags, keys []string) error {
	switch {
	case f.yaml || f.write || f.yes:
		return usagef("identify with keys prints what they could be: leave out --yaml, --write and --yes, or the keys")
	case slices.Contains(keys, ""):
		return usagef("identify was given an empty name of a key: name keys as they are in Redis")
	}
	o, err := p.Options()
	if err != nil {
		return err
	}
	if len(o.URLs) == 0 {
		return usagef("the keys of the embedded demo are known: name the server of %q with --redis", keys[0])
	}
	looks, now, err := looksAt(c.Context(), o, keys, cmp.Or(f.watched, glance))
	if err != nil {
		return err
	}
	var patterns naming.Patterns
	latest := func(its []decode.Sample) *decode.Sample { return &its[len(its)-1] }
	for _, its := range looks {
		patterns.Learn(latest(its).Key, latest(its).Type, now)
	}
	patternOf := func(its []decode.Sample) string { return patterns.Of(latest(its).Key, latest(its).Type, now) }
	out := p.output(c)
	r := readKeys{}
	for _, its := range looks {
		s := latest(its)
		k := shapeOf(s, out.Names)
		if s.Exists() {
			pattern := patternOf(its)
			alike := collect.Only(looks, func(of []decode.Sample) bool { return patternOf(of) == pattern })
			list, err := fitting(c.Context(), o, pattern, alike, keys, now)
			if err != nil {
				return err
			}
			if k.Readings, err = readingsOf(c.Context(), o, s, config.Zoned(list), p.Override.Limit, out.Names); err != nil {
				return err
			}
		}
		r.Keys = append(r.Keys, k)
	}
	return out.print(r)
}

// looksAt looks at keys for so long, and at least once. It returns the samples of each in their order, and the time of the latest.
func looksAt(ctx context.Context, o feed.Options, keys []string, long time.Duration) (_ [][]decode.Sample, now limiter.Instant, err error) {
	looks := make([][]decode.Sample, len(keys))
	for begun := limiter.Instant(0); len(keys) > 0 && (begun == 0 || now.Sub(begun) < long); {
		if begun != 0 && goroutine.Sleep(ctx, lookEvery) != nil {
			break
		}
		var samples []decode.Sample
		if samples, now, err = samplesOf(ctx, o, keys); err != nil {
			return nil, 0, err
		}
		begun = cmp.Or(begun, now)
		for n := range samples {
			looks[n] = append(looks[n], samples[n])
		}
	}
	return looks, now, nil
}

// How much of a key is read to tell what it could be.
const (
	shapeBytes  = 64 << 10
	shapeFields = 200
	shapeEnds   = 50
)

// samplesOf reads a part of each key, and the server's clock, through a client that cannot write.
func samplesOf(ctx context.Context, o feed.Options, keys []string) (samples []decode.Sample, now limiter.Instant, err error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, 0, usage(err)
	}
	client := e.Open("ratescope-identify", 1, &connect.Guard{})
	defer client.Close()
	away := func(err error) error { return feed.Away(connect.Explain(err, e.Shown)) }
	at, err := client.Time(ctx).Result()
	if err != nil {
		return nil, 0, away(err)
	}
	types, asked := make([]*redis.StatusCmd, len(keys)), make([]*decode.Pending, len(keys))
	ask := func(each func(p redis.Pipeliner, i int)) {
		if _, failed := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range keys {
				each(p, i)
			}
			return nil
		}); err == nil && !errors.Is(failed, redis.Nil) {
			err = failed
		}
	}
	ask(func(p redis.Pipeliner, i int) { types[i] = p.Type(ctx, keys[i]) })
	ask(func(p redis.Pipeliner, i int) {
		if typ := types[i].Val(); typ != "none" && typ != "" {
			asked[i] = decode.Ask(ctx, p, decode.Fetch{Key: keys[i], Type: typ, Bytes: shapeBytes, Pairs: shapeFields, Ends: shapeEnds})
		}
	})
	for i, key := range keys {
		s := decode.Sample{Key: key, Type: "none"}
		if asked[i] != nil && err == nil {
			s, err = asked[i].Sample()
		}
		s.At = limiter.InstantOf(at)
		samples = append(samples, s)
	}
	if err != nil {
		return nil, 0, away(err)
	}
	return samples, limiter.InstantOf(at), nil
}

// readBy reads a key as rules say that it is laid out.
func readBy(ctx context.Context, o feed.Options, rules []config.Rule, key string) (b model.Batch, r model.Reading, err error) {
	o.Rules, o.Watch, o.Keys = rules, nil, []string{key}
	src, err := feed.NewRedis(o)
	if err != nil {
		return b, r, usage(err)
	}
	defer src.Close()
	return feed.ReadKey(ctx, src, key)
}

// readingsOf works out what each reading that fits a key gives: that of the library whose layout it has,
// else the suggested ones.
func readingsOf(
	ctx context.Context, o feed.Options, s *decode.Sample, suggested []config.Suggestion, limit string, names report.Options,
) ([]reportedRead, error) {
	out := []reportedRead{}
	read := func(rules []config.Rule, as string) error {
		batch, r, err := readBy(ctx, o, rules, s.Key)
		if err != nil {
			return err
		}
		k := report.KeyOf(&r, batch.At, names)
		if as == "" && (k.Library == nil || k.Evidence != "known") {
			return nil
		}
		if k.Algorithm != nil && *k.Algorithm == limiter.SlidingLog.String() && k.Window == nil {
			k.Used = nil // some of its entries may count no more
		}
		as = cmp.Or(as, "the layout of "+report.Word(k.Library))
		out = append(out, reportedRead{as, k.Library, k.Algorithm, k.Used, k.Limit, k.Window, k.Notes, nil, "", ""})
		return nil
	}
	if err := read(o.Rules, ""); errors.As(err, new(feed.Away)) {
		return nil, err
	} // else it is of no known layout
	if len(out) > 0 {
		return out, nil // whose form is no other's
	}
	for _, g := range suggested {
		e := g.Entry
		if e.Limit = limit; limit != "" {
			e.Window = ""
		}
		rule, err := e.Rule()
		if err != nil { // its limit says how long its window is, and is not known
			out = append(out, reportedRead{As: g.As, Notes: []report.Text{"limit unknown"}})
		} else if err := read([]config.Rule{rule}, g.As); errors.As(err, new(feed.Away)) {
			return nil, err
		} else if err != nil {
			continue // it holds something else where its rule says so
		}
		last := &out[len(out)-1]
		last.Library = nil
		last.Unsure = g.Unsure
		if g.Note != "" {
			last.Notes, last.Window = append(last.Notes, report.Text(g.Note)), nil
			if limit != "" && rule.Layout != nil {
				last.Window = new(report.Millis(rule.Layout.Limit.Window))
			}
		}
		e.Name = string(names.Name(e.Name))
		last.Rule, last.words = e.Open().Words()
	}
	return out, ctx.Err()
}

// String returns r for people: each key with a table of its readings and the rule of each.
func (r readKeys) String() string {
	var b strings.Builder
	for i, k := range r.Keys {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", k.Key.Clean(), k.shape())
		if len(k.Readings) == 0 {
			b.WriteString("  no reading fits: it has no layout of a limiter that is known\n")
			continue
		}
		c := report.NewColumns("", "could be", "algorithm", ">used", ">limit", "per", "notes")
		for n, g := range k.Readings {
			c.Add(fmt.Sprint(n+1), g.As, report.Word(g.Algorithm), report.Number(g.Used), report.Number(g.Limit), windowText(g.Window),
				strings.Join(collect.Map(g.Notes, report.Text.Clean), "; "))
		}
		b.WriteString(c.String())
		if what := k.Readings[0].Unsure; what != "" {
			fmt.Fprintf(&b, "  not settled: %s\n", what)
		}
		for n, g := range k.Readings {
			if g.words != "" {
				fmt.Fprintf(&b, "  rule %d  - %s\n", n+1, g.words)
			}
		}
	}
	return b.String()
}

// shape says what a key is without what it holds.
func (k *readKey) shape() string {
	if k.Size == nil {
		return "it does not exist"
	}
	text, of := k.Type, "element"
	if k.Type == "string" {
		of = "byte"
	}
	text += ", " + format.Plural(int(*k.Size), of)
	if *k.TTL < 0 {
		return text + ", it never expires"
	}
	return text + ", it expires in " + (time.Duration(*k.TTL) * time.Millisecond).Round(100*time.Millisecond).String()
}

// entriesOf returns the rules for the groups of r. Groups whose
// names follow one pattern get one rule that says what is the same for all of them, and a pattern
// comes before one that its keys fit, too. A limit that is not in Redis is a comment that says
// what to write.
func entriesOf(r limitersFound) (entries []config.Entry) {
	type one struct {
		entry  config.Entry
		keys   int
		grades []string
	}
	var all []*one
	at := make(map[string]*one)
	for _, g := range r.Groups {
		e, whole := g.whole(r.at)
		if !whole {
			continue
		}
		if e.Limit == "" && g.of.Missing() {
			e.Below = fmt.Sprintf("limit: %s   it is not in Redis: take it from the application", g.limitHint())
			if g.burstHint() != "" {
				e.Below += ", and beside it burst: CAPACITY"
			}
		}
		id := e.Match + e.Name
		if id == "*" { // a rule for all keys of each library
			id += e.Library
		}
		x := at[id]
		if x == nil {
			x = &one{entry: e}
			x.entry.Example = string(g.example)
			at[id] = x
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
			{&x.entry.Below, &e.Below},
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
			if a, b := &all[i].entry, &all[j].entry; config.MatchGlob(a.Match, b.Example) && !config.MatchGlob(b.Match, a.Example) {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	for _, x := range all {
		x.entry.Above = format.Plural(x.keys, "key") + ", " + strings.Join(x.grades, " and ")
		if slices.Contains(x.grades, model.Likely.String()) {
			x.entry.Above += ": remove this rule if they are no limiters"
		}
		entries = append(entries, x.entry)
	}
	for _, g := range slices.Concat(r.Groups, r.Candidates[:min(len(r.Candidates), mostCandidates)]) {
		for i, s := range g.offers {
			e := s.Entry.Open()
			e.Offer, e.Example = fmt.Sprintf("%s, as %s: ", g.Pattern.Clean(), s.As), string(g.example)
			e.Above = format.Plural(g.Keys, "key") + ", " + g.Evidence + "; remove the # below where that is right, and put in the limit"
			if s.Unsure != "" && i == 0 {
				e.Above += "; not settled is " + s.Unsure
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// open returns the patterns of what may be limiters and has no rule without a word of a person.
func (i *limitersFound) open() string {
	whole := func(g *foundGroup) bool { _, ok := g.whole(i.at); return ok }
	groups := slices.DeleteFunc(slices.Clone(i.Groups), whole)
	return strings.Join(collect.Map(append(groups, i.Candidates...), func(g *foundGroup) string { return g.Pattern.Clean() }), ", ")
}

// whole returns the rule for the group, and whether it can stand: it does not where it lacks its limit, or would say nothing of how
// its keys are read.
func (g *foundGroup) whole(now limiter.Instant) (e config.Entry, ok bool) {
	e = g.entry(now)
	_, err := e.Rule()
	return e, err == nil && (e.Name != "" || e.Library != "" || e.Algorithm != "")
}

// entry returns the rule for the group: one with name where the names of counters of no library hold their window, which
// is over when the next one begins.
func (g *foundGroup) entry(now limiter.Instant) config.Entry {
	if g.suggested != nil && g.suggested.Zone != config.AnyZone {
		e := *g.suggested
		if e.Limit == "" && g.Rule.Limit != "" {
			e.Limit, e.Window = g.Rule.Limit, ""
		}
		return e
	}
	if g.Library == nil && (report.Word(g.Algorithm) == limiter.FixedWindow.String() || g.read != "") {
		e, windowed, ok := config.Named(string(g.example), string(g.Pattern), 0, now)
		if e.Read, e.Limit = cmp.Or(g.read, "value"), g.Rule.Limit; e.Limit != "" {
			e.Window = ""
		}
		if ok && (g.read != "" || windowed) {
			return e
		}
	}
	return config.Entry(g.Rule)
}

// sampled reports whether the form of the group's keys says more of them than its algorithm: whose times are ends, in which unit a
// TAT is, and what stands beside a counter.
func (g *foundGroup) sampled() bool {
	return slices.Contains([]limiter.Algorithm{limiter.SlidingLog, limiter.FixedWindow, limiter.GCRA}, g.of.Algorithm)
}

// settling is how long keys are looked at to settle which way they count, glance how long those are that a person names, and
// lookEvery how often.
const (
	settling  = 8 * time.Second
	glance    = 2 * time.Second
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
	all := slices.Concat(i.Groups, i.Candidates)
	for n, g := range all {
		nth := n - len(i.Groups) // of the candidates
		if g.Library == nil && g.read == "" && (g.Algorithm == nil || nth >= 0 || g.sampled()) && len(o.URLs) > 0 {
			if g.examples = append([]string{string(g.example)}, g.examples...); nth >= mostCandidates || long == 0 && !g.sampled() {
				g.examples = g.examples[:1]
			}
			open, keys = append(open, g), append(keys, g.examples...)
		}
	}
	looks, now, err := looksAt(ctx, o, keys, min(long, settling))
	if err != nil {
		return err
	}
	for _, g := range open {
		its := looks[:len(g.examples)]
		looks = looks[len(its):]
		list, err := fitting(ctx, o, string(g.Pattern), its, g.of.Bans, now)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		g.offers = list[:1]
		if what := list[0].Unsure; what != "" && len(list) > 1 && list[1].Unsure == what {
			g.offers = slices.DeleteFunc(list, func(s config.Suggestion) bool { return s.Unsure != what })
			g.Algorithm, g.Rule = nil, suggestedRule{Match: string(g.Pattern)}
			g.unsaid = append(g.unsaid, what+": ratescope identify KEY has a rule for each")
			continue
		}
		e := &list[0].Entry
		if slices.ContainsFunc(list, func(s config.Suggestion) bool { return s.Entry.Ends != e.Ends }) {
			g.unsaid = append(g.unsaid, "which of its counts limits: where several do, write a rule with name for each")
		}
		if g.Evidence != model.Likely.String() || report.Word(g.Algorithm) != limiter.FixedWindow.String() || e.Block != "" ||
			e.Ends != "" || strings.HasPrefix(e.Read, "left") {
			g.suggested = e
		}
		if limit, err := limiter.ParseLimit(e.Limit); err == nil {
			g.Limit, g.Window, g.LimitFrom = new(limit.Count), new(report.Millis(limit.Window)), new(model.LimitInferred.String())
		}
	}
	for n, g := range all {
		e, whole := g.whole(i.at)
		if g.Rule = suggestedRule(e); whole && n < len(i.Groups) {
			g.offers = nil
		}
	}
	return nil
}

// ruleLine returns the rule with name for the group as the configuration has it, with what a person has to put
// in; "" where the rule is no such one.
func (g *foundGroup) ruleLine() (line string) {
	if e := config.Entry(g.Rule); e.Name != "" {
		_, line = e.Open().Words()
	}
	return line
}
