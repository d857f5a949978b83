package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/internal/file"
	"ratescope/limiter/scenario"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

func newVerify(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Run scenario files through the limiters",
		Long: "Run scenario files through the limiters and print what became of each, until the first mismatch, which makes the exit code 1. " +
			"What a store or this program cannot do is listed as such and never counted as passed.\n\n" +
			"On Redis every scenario writes keys of its own, under a prefix of this run alone, and removes them, which needs --allow-inject.",
		Example: "ratescope verify vectors.json --on memory,redis --redis redis://localhost:6379 --allow-inject",
	}
	on := c.Flags().StringSlice("on", []string{"memory"}, "stores to run on: memory, redis, or both as memory,redis")
	return p.command(c, func(c *cobra.Command, files []string) error {
		if err := p.ask(); err != nil {
			return err
		}
		o, err := p.Options()
		if err != nil {
			return err
		}
		return verifyFiles(c.Context(), files, *on, o, p.armed(), p.output(c))
	}, screenFlags, keyFlags, []string{"ascii", "mask"})
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
		return usageError{Err: err}
	}
	defer end()
	var all []scenario.Scenario
	for _, name := range files {
		stories, err := stories(name)
		if err != nil {
			return err
		}
		all = append(all, stories...)
	}
	return report.Verify(to.Out, all, list, func(s scenario.Scenario, on scenario.Store) (scenario.Result, error) {
		return scenario.Run(ctx, s, on)
	})
}

// stories are the scenarios of a file.
func stories(name string) ([]scenario.Scenario, error) {
	f, err := file.Open(name)
	if err != nil {
		return nil, usageError{Err: err}
	}
	defer f.Close()
	list, err := scenario.Load(f)
	if err != nil {
		return nil, usagef("%s: %w", safetext.Clean(name), err)
	}
	return list, nil
}

// stores are those that the names ask for, and what ends them.
func stores(names []string, o feed.Options, armed bool) (list []scenario.Store, end func(), err error) {
	end = func() {}
	if len(names) == 0 {
		return nil, end, errors.New("--on is empty: use memory, redis or both as memory,redis")
	}
	for _, name := range names {
		switch {
		case name == "memory":
			list = append(list, scenario.Memory())
		case name == "redis" && len(o.URLs) == 0:
			return nil, end, errors.New("--on redis needs a server: give --redis URL, as in --redis redis://localhost:6379")
		case name == "redis" && !armed:
			return nil, end, errors.New("--on redis writes keys of its own to the server: give --allow-inject to allow it")
		case name == "redis":
			client, err := feed.Connect(o)
			if err != nil {
				return nil, end, err
			}
			list, end = append(list, scenario.Redis(client)), func() { client.Close() }
		default:
			return nil, end, fmt.Errorf("--on %s is no store: use memory, redis or both as memory,redis", name)
		}
	}
	return list, end, nil
}
