package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/decode/library"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/identify"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

type identifyFlags struct {
	yaml, write, yes bool
	watched          time.Duration
}

func newIdentify(p *program) *cobra.Command {
	var f identifyFlags
	c := helped("identify [KEY]...")
	p.jsonFlag(c)
	c.Flags().BoolVar(&f.yaml, "yaml", false, "print the rules as a configuration file")
	c.Flags().BoolVar(&f.write, "write", false, "add the rules to the configuration file, after showing the difference")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --write: write without asking")
	c.Flags().DurationVar(&f.watched, "for", 0, "how long to watch, as in 5m: "+
		"what is only likely tells its window and limit by how it changes")
	c.Flags().Lookup("for").DefValue = "" // 0s would be shown as the default
	return p.command(c, several, func(c *cobra.Command, keys []string) error {
		switch {
		case f.watched < 0:
			return usagef("--for %v is out of range: give a duration, as in 5m", f.watched)
		case len(keys) > 0:
			return runIdentifyKeys(p, c, f, keys)
		}
		return runIdentify(p, c, f)
	}, lookFlags)
}

func runIdentify(p *program, c *cobra.Command, f identifyFlags) error {
	switch {
	case f.yaml && p.json || f.yaml && f.write || p.json && f.write:
		return usagef("identify prints --json or --yaml, or adds the rules with --write: give one of the three")
	case f.yes && !f.write:
		return usagef("--yes answers the question of --write: give both")
	case f.write && p.names.Mask:
		return usagef("--mask hides the names that --write writes into the rules: leave out one of the two")
	}
	path := ""
	if f.write {
		var err error
		if path, err = writtenConfig(p); err != nil {
			return err
		}
		p.NewConfig = true
	}
	return p.opened(func(src server) error {
		o := p.output(c)
		look := func() (limitersFound, error) {
			found, err := identified(c.Context(), src, f.watched, o)
			if err == nil && !p.names.Mask {
				err = found.suggest(c.Context(), p, f.watched)
			}
			return found, err
		}
		if f.write {
			return identifyWrite(look, path, f.question(path), o)
		}
		found, err := look()
		switch {
		case err != nil:
			return err
		case !f.yaml:
			return o.print(found)
		}
		_, err = io.WriteString(o.Out, config.File(entriesOf(found)))
		return err
	})
}

// writtenConfig returns the file that --write adds to, whether it is there or not.
func writtenConfig(p *program) (string, error) {
	switch path := p.ConfigPath(); {
	case path != "":
		return path, nil
	case len(p.Flags.URLs) == 0 && len(p.Environment.URLs) == 0 && p.Target == "":
		return "", usagef("the embedded Redis of the demo needs no rules: name your server with --redis, or the file to write " +
			"with --config")
	}
	return newConfigPath(p.Config)
}

// question returns the function that asks the user whether to write, nil where no user is asked: --yes was given,
// or there is no terminal, so that --write itself is the answer.
func (f identifyFlags) question(path string) func() (bool, error) {
	ask := question(os.Stdout)
	if f.yes || ask == nil {
		return nil
	}
	return func() (bool, error) {
		answer, err := ask(fmt.Sprintf("Write this to %s? [y/N] ", safetext.Clean(path)))
		answer = strings.ToLower(answer)
		if yes := answer == "y" || answer == "yes"; yes || err != nil && answer != "" {
			return yes, nil
		}
		fmt.Fprintln(os.Stderr, "ratescope: nothing was written")
		return false, nil
	}
}

// identifyWrite adds the rules for the limiters that look finds to the configuration file at path, which need not be
// there yet. It prints the difference first; the
// file is written when ask, which may be nil, returns true. Rules of the file stand, so that a
// group that one of them names is left out; where nothing is left, the error says so.
func identifyWrite(look func() (limitersFound, error), path string, ask func() (bool, error), o output) error {
	content, err := file.ReadAny(path, file.MaxText)
	if err != nil {
		return usage(err)
	}
	shown := safetext.Clean(path)
	before, err := config.Parse(content)
	if err != nil {
		return usagef("%s:%w", shown, err)
	}
	r, err := look()
	if err != nil {
		return err
	}
	entries := entriesOf(r)
	lacking := slices.DeleteFunc(before.Lacking(entries), func(e config.Entry) bool {
		return e.Offer != "" && strings.Contains(string(content), "# "+e.Offer)
	})
	switch open := r.open(); {
	case len(config.Rules(entries)) == 0 && len(lacking) == 0 && open != "":
		return fmt.Errorf("nothing is added to %s, because what was found needs a word of yours, as identify shows: %s", shown, open)
	case len(entries) == 0:
		return fmt.Errorf("nothing is added to %s, because no key is a limiter by its layout: "+
			"name the keys of your own with --watch 'rl:*'", shown)
	case len(lacking) == 0:
		return fmt.Errorf("nothing is added to %s, because its rules name every limiter that was found already: change them there", shown)
	}
	after, err := config.Merge(content, lacking)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	for line := range strings.Lines(udiff.Unified(path, path, string(content), string(after))) {
		fmt.Fprintln(o.Out, safetext.Clean(strings.TrimSuffix(line, "\n")))
	}
	if ask != nil {
		if yes, err := ask(); err != nil || !yes {
			return err
		}
	}
	if err := file.Replace(path, content, after); err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "ratescope: %s added to %s\n", format.Plural(len(config.Rules(lacking)), "rule"), shown)
	if open := r.open(); open != "" {
		fmt.Fprintln(o.Err, "ratescope: what needs a word of yours stands there as comments: remove the # of a rule that is right, and "+
			"put in its limit, for "+open)
	}
	return nil
}

// identified looks at every key once, and for so long.
func identified(ctx context.Context, src feed.Source, long time.Duration, o output) (found limitersFound, err error) {
	b, err := feed.OnceWithin(ctx, src, feed.Bounds{Least: long})
	if err != nil {
		return found, err
	}
	o.lacks(b)
	if err := unread(b); err != nil {
		return found, err
	}
	found = limitersOf(identify.Of(b.Readings, b.Sweep, aboutLibrary), b.Server.Target, o.Names)
	found.at = b.At
	return found, nil
}

func aboutLibrary(name string) (identify.Library, bool) {
	l := library.Named(name)
	if l == nil {
		return identify.Library{}, false
	}
	return identify.Library{Version: l.Version, Silent: l.Silent}, true
}

// limitersFound is which limiters live on a server, in the fields and the order of the JSON output.
type limitersFound struct {
	Groups      []*foundGroup `json:"groups"`
	Candidates  []*foundGroup `json:"candidates"`
	Unknown     int64         `json:"unknown"`
	Sampled     int64         `json:"sampled,omitempty"` // of the unknown: like others that are likely limiters
	NotLimiters int64         `json:"not_limiters"`

	server report.Text
	at     limiter.Instant
}

// foundGroup is limiters of one library whose names begin alike.
type foundGroup struct {
	Pattern     report.Text   `json:"pattern"`
	Keys        int           `json:"keys"`
	Library     *string       `json:"library"`
	Evidence    string        `json:"evidence"`
	Why         []string      `json:"why"`
	Algorithm   *string       `json:"algorithm"`
	Window      *int64        `json:"window_ms"`
	Limit       *int64        `json:"limit"`
	LimitFrom   *string       `json:"limit_from"`
	NotRecorded []string      `json:"not_recorded"`
	Rule        suggestedRule `json:"rule"`

	of        *identify.Group
	example   report.Text
	examples  []string
	read      string              // how a rule with name reads it, where that is known by watching; else ""
	unsaid    []string            // what watching has yet to settle
	suggested *config.Entry       // the reading that fits the example, where no algorithm is known; nil for none
	offers    []config.Suggestion // the readings of which a person has to say which one is right
}

// suggestedRule is the rule of the configuration that makes a group's figures whole. What a person has to
// add is left out.
type suggestedRule config.Entry

// MarshalJSON implements json.Marshaler.
func (r suggestedRule) MarshalJSON() ([]byte, error) {
	words, _ := config.Entry(r).Words()
	for word, said := range words {
		if text, ok := said.(string); ok {
			words[word] = report.Text(text)
		}
	}
	return json.Marshal(words)
}

func limitersOf(r identify.Report, server string, o report.Options) limitersFound {
	of := func(g identify.Group) *foundGroup { return groupOf(&g, o) }
	out := limitersFound{
		Groups:     append([]*foundGroup{}, collect.Map(r.Groups, of)...),
		Candidates: append([]*foundGroup{}, collect.Map(r.Candidates, of)...), Unknown: r.Unknown, Sampled: r.Sampled,
		NotLimiters: r.NotLimiters, server: report.Text(server),
	}
	for _, g := range out.Candidates {
		g.Evidence = "candidate"
	}
	return out
}

func groupOf(g *identify.Group, o report.Options) *foundGroup {
	out := &foundGroup{
		Pattern: o.Name(g.Pattern), Keys: g.Keys, Evidence: g.Evidence.String(), Why: append([]string{}, g.Why...),
		NotRecorded: append([]string{}, g.NotRecorded...), of: g, example: o.Name(g.Example), examples: g.Examples, unsaid: g.Unsettled,
		Library: collect.Known(g.Library != "", g.Library), Window: collect.Known(g.Window > 0, report.Millis(g.Window)),
		Rule: suggestedRule{Match: string(o.Name(g.Pattern)), Library: g.Library},
	}
	switch {
	case g.Left:
		out.read = "left"
		out.Why = append(out.Why, "its number falls from where it begins until it expires: it is what is left")
	case slices.Contains(g.Why, model.Unmoved):
		out.read = "present"
	}
	if g.Algorithm != limiter.Unknown {
		out.Algorithm = new(g.Algorithm.String())
		out.Rule.Algorithm = g.Algorithm.String()
	}
	if g.LimitFrom != model.NoLimit {
		out.Limit, out.LimitFrom = new(g.Limit.Count), new(g.LimitFrom.String())
	}
	switch {
	case g.Window > 0 && out.Limit != nil:
		out.Rule.Limit, out.Rule.Burst = fmt.Sprintf("%d/%s", g.Limit.Count, g.Window), g.Limit.Burst
	case g.Window > 0:
		out.Rule.Window = g.Window.String()
	}
	return out
}

// String returns i for people: a table of the groups, then what each of them is known by, what it
// does not record, and what is to be added.
func (i limitersFound) String() string {
	c := report.NewColumns("pattern", ">keys", "library", "evidence", "algorithm", "per", ">limit", "limit from")
	for _, g := range i.Groups {
		evidence := collect.If(g.Evidence == model.Likely.String(), "~ ", "") + g.Evidence
		c.Add(safetext.Shorten(g.Pattern.Clean(), report.NameCells, safetext.Ellipsis), fmt.Sprint(g.Keys), report.Word(g.Library),
			evidence, report.Word(g.Algorithm), windowText(g.Window), report.Number(g.Limit), report.Word(g.LimitFrom))
	}
	var b strings.Builder
	_ = textPages().ExecuteTemplate(&b, "identify.txt", map[string]any{ // a Builder takes all
		"i": i, "server": i.server.Clean(), "others": i.others(), "table": c.String(),
		"most": mostCandidates, "more": len(i.Candidates) - mostCandidates,
	})
	return b.String()
}

// identifyWords are what the page of identify says of a group beside its fields.
var identifyWords = template.FuncMap{
	"example": func(g foundGroup) string {
		return safetext.Shorten(g.example.Clean(), report.NameCells, safetext.Ellipsis)
	},
	"version": func(g foundGroup) string { return g.of.Version },
	"missing": func(g foundGroup) bool { return g.of.Missing() },
	"hint":    func(g foundGroup) string { return g.limitHint() + g.burstHint() },
	"rule":    func(g foundGroup) string { return g.ruleLine() },
	"unsaid": func(g foundGroup) []string {
		return collect.Only(g.unsaid, func(what string) bool { return g.Window == nil || !strings.HasPrefix(what, "the window: ") })
	},
}

// mostCandidates is how many groups of candidates are printed for people.
const mostCandidates = 10

// others says, after the number of groups, what became of the keys that are in none.
func (i *limitersFound) others() (text string) {
	if text = fmt.Sprintf(", %d keys are no limiters", i.NotLimiters); i.NotLimiters < 2 {
		text = [...]string{"", ", 1 key is no limiter"}[i.NotLimiters]
	}
	if rest := i.Unknown - i.Sampled; rest > 0 {
		text += fmt.Sprintf(", %s left out: named and formed like others that are none, or not readable", format.Plural(int(rest), "key"))
	}
	if i.Sampled > 0 {
		text += fmt.Sprintf(", %s left out: named like the likely ones, of which only some are looked at until a rule names them",
			format.Plural(int(i.Sampled), "key"))
	}
	return text
}

// burstHint says that a bucket's capacity is to be given, too: without it nothing can be said of what is used.
func (g *foundGroup) burstHint() string {
	if a, err := limiter.ParseAlgorithm(report.Word(g.Algorithm)); err == nil &&
		(describe.KindOf(a) == describe.Bucket || describe.KindOf(a) == describe.Arrival) {
		return " --burst CAPACITY"
	}
	return ""
}

// limitHint says how the limit of a group is written in a rule, for one that is not in Redis.
func (g *foundGroup) limitHint() string {
	return "COUNT/" + strings.ReplaceAll(windowText(g.Window), report.Dash, "DURATION")
}

func windowText(ms *int64) string { return strings.ReplaceAll(report.Each(ms), " ", "") }
