package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/internal/file"
	"ratescope/limiter/redisstore"
	"ratescope/limiter/scenario"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

func newVerify(p *program) *cobra.Command {
	c := helped("verify FILE...")
	on := c.Flags().StringSlice("on", []string{"memory"}, "stores to run on: memory, redis, or both as memory,redis")
	return p.command(c, several, func(c *cobra.Command, files []string) error {
		o, err := p.Options()
		if err != nil {
			return err
		}
		return verifyFiles(c.Context(), files, *on, o, p.firing().Armed, p.output(c))
	}, serverFlags, []string{"allow-inject"})
}

// verifyFiles runs the scenarios of the files on the stores of those names, memory and redis,
// and prints what became of each. o names the server, on which nothing is written unless
// armed is set.
func verifyFiles(ctx context.Context, files, names []string, o feed.Options, armed bool, to output) error {
	if len(files) == 0 {
		return usagef("verify needs a file with scenarios and was given none")
	}
	list, end, err := stores(names, o, armed)
	if err != nil {
		return usage(err)
	}
	defer end()
	var all []scenario.Scenario
	for _, name := range files {
		f, err := file.Open(name)
		if err != nil {
			return usage(err)
		}
		stories, err := scenario.Load(f)
		f.Close()
		if err != nil {
			return usagef("%s: %w", safetext.Clean(name), err)
		}
		all = append(all, stories...)
	}
	return verifyScenarios(to.Out, all, list, func(s scenario.Scenario, on redisstore.Client) (scenario.Result, error) {
		return scenario.Run(ctx, s, on)
	})
}

// stores are those that the names ask for, and what ends them.
func stores(names []string, o feed.Options, armed bool) (list []redisstore.Client, end func(), err error) {
	end = func() {}
	if len(names) == 0 {
		return nil, end, errors.New("--on is empty: use memory, redis or both as memory,redis")
	}
	for _, name := range names {
		switch {
		case name == "memory":
			list = append(list, nil)
		case name == "redis" && len(o.URLs) == 0:
			return nil, end, errors.New("--on redis needs a server: give --redis URL, as in --redis redis://localhost:6379")
		case name == "redis" && !armed:
			return nil, end, errors.New("--on redis writes keys of its own to the server: give --allow-inject to allow it")
		case name == "redis":
			client, err := feed.Connect(o)
			if err != nil {
				return nil, end, err
			}
			list, end = append(list, client), func() { client.Close() }
		default:
			return nil, end, fmt.Errorf("--on %s is no store: use memory, redis or both as memory,redis", name)
		}
	}
	return list, end, nil
}

// verifyScenarios runs every scenario on every store and prints a table of what became of them
// and how many came to what. It stops at the first mismatch, and returns it as an error
// of one sentence; the table then ends with it. A store that fails ends it too.
func verifyScenarios(w io.Writer, all []scenario.Scenario, stores []redisstore.Client,
	run func(scenario.Scenario, redisstore.Client) (scenario.Result, error)) error {
	c := report.NewColumns("scenario", "algorithm", "store", "result")
	counts := map[scenario.Status]int{}
	total := len(all) * len(stores)
	var trouble error
table:
	for _, s := range all {
		for _, store := range stores {
			r, err := run(s, store)
			if err != nil {
				trouble = err
				break table
			}
			counts[r.Status]++
			c.Add(safetext.Clean(s.ID), s.Algorithm.String(), r.Store, said(r))
			if r.Status == scenario.Mismatch {
				trouble = fmt.Errorf("scenario %s on %s, step %d: want %s, got %s", s.ID, r.Store, r.Step, r.Want, r.Got)
				break table
			}
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n", c, tally(counts, total)); err != nil {
		return err
	}
	return trouble
}

func said(r scenario.Result) string {
	switch r.Status {
	case scenario.NotOnStore:
		return "not on " + r.Store
	case scenario.NotImplemented:
		return "no such algorithm yet"
	case scenario.Mismatch:
		return fmt.Sprintf("MISMATCH at step %d: want %s, got %s", r.Step, safetext.Clean(r.Want), safetext.Clean(r.Got))
	}
	return string(r.Status)
}

// tally prints how many of the runs came to what; what was not run is not left out.
func tally(counts map[scenario.Status]int, total int) string {
	left := total
	parts := make([]string, 0, 5)
	for _, one := range []struct {
		status scenario.Status
		words  string
	}{
		{scenario.Pass, "passed"}, {scenario.Mismatch, "mismatched"},
		{scenario.NotOnStore, "not on their store"}, {scenario.NotImplemented, "of algorithms that do not exist yet"},
	} {
		left -= counts[one.status]
		if n := counts[one.status]; n > 0 || one.status == scenario.Pass {
			parts = append(parts, fmt.Sprintf("%d %s", n, one.words))
		}
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", left))
	}
	return fmt.Sprintf("%s: %s", format.Plural(total, "run"), strings.Join(parts, ", "))
}
