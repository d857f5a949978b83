package feed

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ratescope/model"
)

// Once runs s until one pass of discovery is done and everything that it found was read,
// and returns all of it as one batch. A server that cannot be reached is an error, whose
// text is the sentence of the first batch that says so.
func Once(ctx context.Context, s Source) (model.Batch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all model.Batch
	seen := make(map[string]bool)
	var verdict error
	done, first := false, true
	err := s.Run(ctx, func(b model.Batch) {
		if done {
			return
		}
		if b.Server.Link != model.Live {
			if b.Server.Err != "" {
				verdict, done = errors.New(b.Server.Err), true
				cancel()
			}
			return
		}
		for _, r := range b.Readings {
			seen[r.Key] = true
		}
		for _, k := range b.Gone {
			delete(seen, k)
		}
		if first {
			all, first = b, false
		} else {
			all.Merge(b)
		}
		if b.Sweep.Passes > 0 && len(seen) >= b.Sweep.Matched {
			done = true
			cancel()
		}
	})
	switch {
	case verdict != nil:
		return model.Batch{}, verdict
	case err != nil:
		return model.Batch{}, err
	case !done:
		return model.Batch{}, ctx.Err()
	}
	slices.SortFunc(all.Readings, func(a, b model.Reading) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}
