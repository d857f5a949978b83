package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

func newSnapshot(p *program) *cobra.Command {
	c := helped("snapshot")
	p.jsonFlag(c)
	var s snapshotOptions
	c.Flags().DurationVar(&s.For, "for", 0, "how long to look for keys at most, as in 30s (default: until all were seen)")
	c.Flags().Lookup("for").DefValue = "" // 0s would be shown as the default
	c.Flags().Float64Var(&s.FailOver, "fail-over", 0, "exit with code 3 when a key is at or above this part of its limit, as in 0.9")
	c.Flags().Lookup("fail-over").DefValue = ""
	likely := c.Flags().Bool("likely", false,
		"list keys, too, that are limiters by their value and behaviour but not by their name, marked ~")
	return p.command(c, no("use --watch to say which keys"), func(c *cobra.Command, args []string) error {
		switch s.Fails = c.Flags().Changed("fail-over"); {
		case s.For < 0:
			return usagef("--for %v is out of range: give a duration, as in 30s", s.For)
		case !(s.FailOver >= 0 && s.FailOver <= 1000):
			return usagef("--fail-over %v is out of range: give a part of the limit, as in 0.9", s.FailOver)
		}
		s.Progress = term.IsTerminal(os.Stderr.Fd())
		o := p.output(c)
		o.Names.Likely = *likely
		return p.opened(func(src server) error { return s.Print(c.Context(), src, o) })
	}, lookFlags)
}

// snapshotOptions says what a snapshot looks at, and when it fails.
type snapshotOptions struct {
	For      time.Duration // how long to look for keys at most; 0 until all were seen
	Fails    bool          // when a key is at or above FailOver
	FailOver float64       // the utilization from which on a key makes it fail, where Fails is set
	Progress bool          // print how far the search is on one line that is written over, else a line every two seconds
}

// Print reads every watched key of src once and prints it. It returns an exitError when
// nothing could be read, or a key is at or above FailOver.
func (s snapshotOptions) Print(ctx context.Context, src feed.Source, o output) error {
	line := progressLine{to: o.Err, plain: !s.Progress}
	bounds := feed.Bounds{For: s.For, Progress: line.show}
	batch, err := feed.OnceWithin(ctx, src, bounds)
	line.clear()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return exitError{exitNothing, err}
	}
	o.lacks(batch)
	snapshot := report.SnapshotOf(batch, o.Names)
	o.explain(batch, snapshot)
	if err := o.print(snapshot); err != nil {
		return err
	}
	return cmp.Or(unread(batch), s.over(snapshot))
}

// explain says on stderr why there may be less than expected.
func (o output) explain(b model.Batch, s report.Snapshot) {
	patterns := safetext.Sentence(strings.Join(b.Sweep.Patterns, " or "))
	switch hidden := len(b.Readings) - len(s.Keys); {
	case b.Sweep.Passes == 0:
		total := collect.If(b.Sweep.Total > 0, fmt.Sprint(b.Sweep.Total), "an unknown number of")
		fmt.Fprintf(o.Err, "ratescope: only %d of %s keys were looked at in the time: a limiter may be among the others; give more "+
			"with --for\n", b.Sweep.Scanned, total)
	case b.Sweep.Dropped > 0:
		fmt.Fprintf(o.Err, "ratescope: %d limiters more than can be watched at once are not listed: narrow the search with --watch\n",
			b.Sweep.Dropped)
	case len(s.Keys) == 0 && hidden > 0:
		fmt.Fprintf(o.Err, "ratescope: only likely limiters match %s, %s: list them with --likely, or name them with --watch\n", patterns,
			format.Plural(hidden, "key"))
	case len(s.Keys) == 0 && len(b.Server.Lacks) == 0:
		fmt.Fprintf(o.Err, "ratescope: there is no limiter among the keys that match %s\n", patterns)
	}
}

// unread returns an error when nothing at all could be read.
func unread(b model.Batch) error {
	switch {
	case slices.ContainsFunc(b.Readings, func(r model.Reading) bool { return r.Err == "" }):
		return nil
	case len(b.Readings) > 0:
		return exitError{exitNothing, fmt.Errorf("none of %d keys could be read: %s", len(b.Readings), b.Readings[0].Err)}
	case len(b.Server.Lacks) > 0:
		return exitError{exitNothing, errors.New("nothing could be read: " + b.Server.Lacks[0])}
	}
	return nil
}

// maxNamed bounds how many keys an error names.
const maxNamed = 5

// over returns an error that names the keys at or above FailOver, the fullest first.
func (s snapshotOptions) over(all report.Snapshot) error {
	if !s.Fails {
		return nil
	}
	full := collect.Only(all.Keys, func(k report.Key) bool {
		return k.Utilization != nil && *k.Utilization >= s.FailOver && k.Evidence != model.Likely.String()
	})
	if len(full) == 0 {
		return nil
	}
	slices.SortStableFunc(full, func(a, b report.Key) int { return cmp.Compare(*b.Utilization, *a.Utilization) })
	names := collect.Map(full[:min(len(full), maxNamed)], func(k report.Key) string {
		return fmt.Sprintf("%s (%.0f %%)", safetext.Clean(string(k.Key)), *k.Utilization*100)
	})
	text := strings.Join(names, ", ")
	if more := len(full) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return exitError{exitOver, fmt.Errorf("%s at or above %g of the limit: %s", format.Plural(len(full), "key"), s.FailOver, text)}
}
