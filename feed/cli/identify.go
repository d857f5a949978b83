package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/decode/library"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/model/plural"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Identify looks at every key of a server once, and for so long, and prints which limiters live
// there.
func Identify(ctx context.Context, src feed.Source, long time.Duration, o Output) error {
	r, err := identified(ctx, src, long, o)
	if err != nil {
		return err
	}
	return o.print(r)
}

// IdentifyYAML looks at every key of a server once, and for so long, and prints the rules for the
// limiters there as a configuration file.
func IdentifyYAML(ctx context.Context, src feed.Source, long time.Duration, o Output) error {
	r, err := identified(ctx, src, long, o)
	if err != nil {
		return err
	}
	entries, _ := entriesOf(r)
	text, err := config.File(entries)
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.Out, text)
	return err
}

// IdentifyWrite looks at every key of a server once, and for so long, and adds the rules for the limiters there to
// the configuration file at path, which need not be there yet. It prints the difference first; the
// file is written when ask, which may be nil, returns true. Rules of the file stand, so that a
// group that one of them names is left out; where nothing is left, the error says so.
func IdentifyWrite(ctx context.Context, src feed.Source, long time.Duration, path string, ask func() (bool, error), o Output) error {
	content, err := file.Read(path)
	if _, absent := os.Stat(path); errors.Is(absent, fs.ErrNotExist) {
		content, err = nil, nil
	}
	if err != nil {
		return UsageError{err}
	}
	shown := safetext.Clean(path)
	before, err := config.Parse(content)
	if err != nil {
		return UsageError{fmt.Errorf("%s:%w", shown, err)}
	}
	r, err := identified(ctx, src, long, o)
	if err != nil {
		return err
	}
	entries, examples := entriesOf(r)
	lacking := before.Lacking(entries, func(i int) string { return examples[i] })
	switch {
	case len(entries) == 0:
		return fmt.Errorf("nothing is added to %s, because no key is a limiter by its layout: name the keys of your own with --watch 'rl:*'", shown)
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
	fmt.Fprintf(o.Err, "ratescope: %s added to %s\n", plural.Of(len(lacking), "rule"), shown)
	return nil
}

// identified looks at every key once, and for so long.
func identified(ctx context.Context, src feed.Source, long time.Duration, o Output) (report.Identified, error) {
	b, err := feed.OnceWithin(ctx, src, feed.Bounds{Least: long})
	if err != nil {
		return report.Identified{}, err
	}
	o.lacks(b)
	if err := unread(b); err != nil {
		return report.Identified{}, err
	}
	return report.IdentifiedOf(identify.Of(b.Readings, b.Sweep, About), b.Server.Target, o.Names), nil
}

// About says what is known of a library.
func About(name string) (identify.Library, bool) {
	l := library.Named(name)
	if l == nil {
		return identify.Library{}, false
	}
	return identify.Library{Version: l.Version, Silent: l.Silent}, true
}

// entriesOf returns the rules for the groups of r with the name of a key of each. Groups whose
// names follow one pattern get one rule that says what is the same for all of them, and a pattern
// comes before one that its keys fit, too. A limit that is not in Redis is a comment that says
// what to write.
func entriesOf(r report.Identified) (entries []config.Entry, examples []string) {
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
		e := config.Entry{Match: string(g.Rule.Match), Library: g.Rule.Library, Algorithm: g.Rule.Algorithm, Limit: g.Rule.Limit, Window: g.Rule.Window}
		hint := ""
		if g.Rule.Limit == "" && g.Missing() {
			hint = fmt.Sprintf("limit: %s   it is not in Redis: take it from the application", g.LimitHint())
		}
		x := at[e.Match]
		if x == nil {
			x = &one{entry: e, example: g.Example(), hint: hint}
			at[e.Match] = x
			all = append(all, x)
		}
		x.keys += g.Keys
		if !slices.Contains(x.grades, g.Evidence) {
			x.grades = append(x.grades, g.Evidence)
		}
		for _, word := range [...]struct{ of, is *string }{{&x.entry.Library, &e.Library}, {&x.entry.Algorithm, &e.Algorithm}, {&x.entry.Limit, &e.Limit}, {&x.entry.Window, &e.Window}, {&x.hint, &hint}} {
			if *word.of != *word.is {
				*word.of = ""
			}
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
		x.entry.Above, x.entry.Below = fmt.Sprintf("%s, %s", plural.Of(x.keys, "key"), strings.Join(x.grades, " and ")), x.hint
		if slices.Contains(x.grades, model.Likely.String()) {
			x.entry.Above += ": remove this rule if they are no limiters"
		}
		entries, examples = append(entries, x.entry), append(examples, x.example)
	}
	return entries, examples
}
