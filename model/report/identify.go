package report

import (
	"fmt"
	"io"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/model/plural"
	"ratescope/model/safetext"
)

// Identified is which limiters live on a server, in the fields and the order of the JSON output.
type Identified struct {
	Groups      []IdentifiedGroup `json:"groups"`
	Unknown     int64             `json:"unknown"`
	Sampled     int64             `json:"sampled,omitempty"` // of the unknown: like others that are likely limiters
	NotLimiters int64             `json:"not_limiters"`

	server Text
}

// IdentifiedGroup is limiters of one library whose names begin alike.
type IdentifiedGroup struct {
	Pattern     Text     `json:"pattern"`
	Keys        int      `json:"keys"`
	Library     *string  `json:"library"`
	Evidence    string   `json:"evidence"`
	Why         []string `json:"why"`
	Algorithm   *string  `json:"algorithm"`
	Window      *int64   `json:"window_ms"`
	Limit       *int64   `json:"limit"`
	LimitFrom   *string  `json:"limit_from"`
	NotRecorded []string `json:"not_recorded"`
	Rule        Rule     `json:"rule"`

	version string
	example Text
	missing bool
	unsaid  []string // what watching has yet to settle
}

// Rule is the rule of the configuration that makes a group's figures whole. What a person has to
// add is left out.
type Rule struct {
	Match     Text   `json:"match"`
	Library   string `json:"library,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Limit     string `json:"limit,omitempty"`
	Window    string `json:"window,omitempty"`
}

// IdentifiedOf is r for output.
func IdentifiedOf(r identify.Report, server string, o Options) Identified {
	out := Identified{Groups: make([]IdentifiedGroup, 0, len(r.Groups)), Unknown: r.Unknown, Sampled: r.Sampled, NotLimiters: r.NotLimiters, server: Text(server)}
	for i := range r.Groups {
		out.Groups = append(out.Groups, groupOf(&r.Groups[i], o))
	}
	return out
}

func groupOf(g *identify.Group, o Options) IdentifiedGroup {
	out := IdentifiedGroup{
		Pattern: o.name(g.Pattern), Keys: g.Keys, Evidence: g.Evidence.String(), Why: append([]string{}, g.Why...),
		NotRecorded: append([]string{}, g.NotRecorded...), version: g.Version, example: o.name(g.Example), missing: g.Missing(), unsaid: g.Unsettled,
	}
	out.Rule.Match = out.Pattern
	if g.Library != "" {
		out.Library = known(g.Library)
		out.Rule.Library = g.Library
	}
	if g.Algorithm != limiter.Unknown {
		out.Algorithm = known(g.Algorithm.String())
		out.Rule.Algorithm = g.Algorithm.String()
	}
	if g.Window > 0 {
		out.Window = known(millis(g.Window))
		out.Rule.Window = g.Window.String()
	}
	if g.LimitFrom != model.NoLimit {
		out.Limit, out.LimitFrom = known(g.Limit.Count), known(g.LimitFrom.String())
		if g.Window > 0 {
			out.Rule.Limit, out.Rule.Window = fmt.Sprintf("%d/%s", g.Limit.Count, g.Window), ""
		}
	}
	return out
}

// JSON prints i as one object.
func (i Identified) JSON(w io.Writer) error { return writeJSON(w, i) }

// Text prints i for people: a table of the groups, then what each of them is known by, what it
// does not record, and what is to be added.
func (i Identified) Text(w io.Writer) error {
	c := NewColumns("pattern", ">keys", "library", "evidence", "algorithm", "per", ">limit", "limit from")
	for _, g := range i.Groups {
		c.Add(safetext.Shorten(g.Pattern.clean(), nameCells, safetext.Ellipsis), fmt.Sprint(g.Keys), or(g.Library), mark(g.Evidence),
			or(g.Algorithm), windowText(g.Window), number(g.Limit), or(g.LimitFrom))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of limiters%s.\n", i.server.clean(), plural.Of(len(i.Groups), "group"), i.others())
	if len(i.Groups) == 0 {
		b.WriteString("\nNo key is a limiter by the layout of a library. Name the keys of your own with --watch 'rl:*'.\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("\n" + c.String())
	for _, g := range i.Groups {
		b.WriteByte('\n')
		g.describe(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// others says, after the number of groups, what became of the keys that are in none.
func (i *Identified) others() (text string) {
	switch i.NotLimiters {
	case 0:
	case 1:
		text += ", 1 key is no limiter"
	default:
		text += fmt.Sprintf(", %d keys are no limiters", i.NotLimiters)
	}
	if rest := i.Unknown - i.Sampled; rest > 0 {
		text += fmt.Sprintf(", %s left out: named and formed like others that are none, or not readable", plural.Of(int(rest), "key"))
	}
	if i.Sampled > 0 {
		text += fmt.Sprintf(", %s left out: named like the likely ones, of which only some are looked at until a rule names them", plural.Of(int(i.Sampled), "key"))
	}
	return text
}

// describe writes the sentences about a group.
func (g *IdentifiedGroup) describe(b *strings.Builder) {
	fmt.Fprintf(b, "%s, as %s\n", g.Pattern.clean(), safetext.Shorten(g.example.clean(), nameCells, safetext.Ellipsis))
	if len(g.Why) > 0 {
		fmt.Fprintf(b, "  known by       %s\n", strings.Join(g.Why, "; "))
	}
	if g.version != "" {
		fmt.Fprintf(b, "  checked with   %s %s\n", or(g.Library), g.version)
	}
	if len(g.NotRecorded) > 0 {
		fmt.Fprintf(b, "  not recorded   %s\n", strings.Join(g.NotRecorded, "; "))
	}
	switch {
	case g.Evidence == model.Likely.String():
		for _, what := range g.unsaid {
			fmt.Fprintf(b, "  not yet known  %s\n", what)
		}
		b.WriteString("  to settle it   watch longer with --for, or add the rule to the configuration if these are limiters: ratescope identify --write\n")
	case g.missing:
		fmt.Fprintf(b, "  to add         the limit, which is not in Redis: ratescope --watch '%s' --limit %s\n", g.Pattern.clean(), g.LimitHint())
	}
}

// Missing says whether a person has to add the limit.
func (g *IdentifiedGroup) Missing() bool { return g.missing }

// Example returns the name of one of the group's limiters.
func (g *IdentifiedGroup) Example() string { return string(g.example) }

// LimitHint says how the limit of a group is written in a rule, for one that is not in Redis.
func (g *IdentifiedGroup) LimitHint() string {
	return "COUNT/" + strings.ReplaceAll(windowText(g.Window), dash, "DURATION")
}

// or returns *s, or a dash where nothing is known.
func or(s *string) string {
	if s == nil {
		return dash
	}
	return *s
}

// mark puts a tilde before what is only likely.
func mark(evidence string) string {
	if evidence == model.Likely.String() {
		return "~ " + evidence
	}
	return evidence
}

func windowText(ms *int64) string {
	if ms == nil {
		return dash
	}
	return strings.ReplaceAll(each(*ms), " ", "")
}
