package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/feed"
	"ratescope/feed/decode/library"
	"ratescope/model/identify"
	"ratescope/model/report"
)

// Identify looks at every key of a server once and prints which limiters live there. With yaml it
// prints the rules of a configuration file instead.
func Identify(ctx context.Context, src feed.Source, asYAML bool, o Output) error {
	b, err := feed.Once(ctx, src)
	if err != nil {
		return err
	}
	found := identify.Of(b.Readings, b.Sweep, about)
	r := report.IdentifiedOf(found, b.Server.Target, o.Names)
	if asYAML {
		return writeRules(o.Out, r)
	}
	return o.print(r)
}

// about says what is known of a library.
func about(name string) (identify.Library, bool) {
	l := library.Named(name)
	if l == nil {
		return identify.Library{}, false
	}
	return identify.Library{Version: l.Version, Silent: l.Silent}, true
}

// writtenRule is a rule as the configuration file spells it.
type writtenRule struct {
	Match     string `yaml:"match"`
	Library   string `yaml:"library,omitempty"`
	Algorithm string `yaml:"algorithm,omitempty"`
	Limit     string `yaml:"limit,omitempty"`
	Window    string `yaml:"window,omitempty"`
}

// writeRules prints the rules of r as a configuration file. A limit that is not in Redis stands
// there as a comment that says what to write.
func writeRules(w io.Writer, r report.Identified) error {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range r.Groups {
		g := &r.Groups[i]
		text, err := yaml.Marshal([]writtenRule{{string(g.Rule.Match), g.Rule.Library, g.Rule.Algorithm, g.Rule.Limit, g.Rule.Window}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  # %s, %s\n", plural(g.Keys, "key"), g.Evidence)
		for line := range strings.Lines(string(text)) {
			b.WriteString("  " + line)
		}
		if g.Rule.Limit == "" && g.Missing() {
			fmt.Fprintf(&b, "    # limit: %s   it is not in Redis: take it from the application\n", g.LimitHint())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
