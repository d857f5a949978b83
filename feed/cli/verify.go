package cli

import (
	"context"
	"errors"
	"fmt"

	"ratescope/feed"
	"ratescope/internal/file"
	"ratescope/limiter/scenario"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Verify runs the scenarios of the files on the stores of those names, memory and redis,
// and prints what became of each. o names the server, on which nothing is written unless
// armed is set.
func Verify(ctx context.Context, files, names []string, o feed.Options, armed bool, to Output) error {
	if len(files) == 0 {
		return Usagef("verify needs a file with scenarios and was given none")
	}
	list, end, err := stores(names, o, armed)
	if err != nil {
		return UsageError{Err: err}
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
		return nil, UsageError{Err: err}
	}
	defer f.Close()
	list, err := scenario.Load(f)
	if err != nil {
		return nil, Usagef("%s: %w", safetext.Clean(name), err)
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
