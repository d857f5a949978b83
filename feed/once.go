package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/model"
	"ratescope/model/safetext"
)

// partialFor is how long OnceWithin waits for very long streams, which take several looks to be read
// whole. Other keys that are partial stay so: they hold no more than was read. What is not whole
// then is returned as it is: a reading that is Partial, without a verdict.
const partialFor = 15 * time.Second

// silentFor is how long a server that does not answer is waited for. The server may have stood still, as
// one does that forks or is throttled, or this machine may have; a server that refuses is not waited for.
const silentFor = 5 * time.Second

// MayAnswer reports whether a server that is away may only have stood still, so that a command waits for it
// before it fails.
func MayAnswer(s model.Server) bool { return s.Silent && s.Down < silentFor }

// Bounds say how long OnceWithin looks, and who follows it.
type Bounds struct {
	For      time.Duration     // after which what was seen so far is returned; 0 until everything was seen
	Least    time.Duration     // for which is looked at least, to see keys change
	Progress func(model.Batch) // gets what was seen so far at every refresh; may be nil
	OneKey   bool              // which may lie on a node of a cluster that is away: then no more is waited for
}

// Away is the error of a server that was to be read and gave nothing, in one sentence.
type Away string

// Error implements error.
func (a Away) Error() string { return string(a) }

// waits reports whether a server that is away may still answer in time. A look began at begun.
func (o Bounds) waits(b model.Batch, begun time.Time) bool {
	return MayAnswer(b.Server) && (o.For == 0 || b.Local.Sub(begun) < o.For)
}

// OnceWithin runs s until one pass of discovery is done and everything that it found was read,
// and returns all of it as one batch. Its Sweep.Scanned is how many keys were looked at in
// all. What was not seen within the bounds is missing: Sweep.Passes is 0 then. A server that cannot be reached is an error, whose
// text is the sentence of the first batch that says so; one that does not answer is asked for silentFor before.
func OnceWithin(ctx context.Context, s Source, bounds Bounds) (model.Batch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all model.Batch
	seen, partial := make(map[string]bool), make(map[string]bool)
	var found time.Time // when everything had been read but for partial keys
	var verdict error
	done, first := false, true
	var begun time.Time
	var scanned int64
	err := s.Run(ctx, func(b model.Batch) {
		if done {
			return
		}
		if begun.IsZero() {
			begun = b.Local
		}
		if b.Server.Link != model.Live {
			if b.Server.Err != "" && !bounds.waits(b, begun) {
				verdict, done = Away(b.Server.Err), true
				cancel()
			}
			return
		}
		for _, r := range b.Readings {
			seen[r.Key] = true
			delete(partial, r.Key)
			if r.Partial && r.Type == "stream" && !slices.Contains(r.Notes, model.CostUnread) {
				partial[r.Key] = true
			}
		}
		for _, k := range b.Gone {
			delete(seen, k)
			delete(partial, k)
		}
		if first {
			all, first = b, false
		} else {
			all.Merge(b)
		}
		if scanned = max(scanned, b.Sweep.Scanned); b.Sweep.Passes > 0 {
			scanned = max(scanned, b.Sweep.Total) // the count of the next pass may have begun
		}
		all.Sweep.Scanned = scanned
		if bounds.Progress != nil {
			bounds.Progress(all)
		}
		if bounds.For > 0 && b.Local.Sub(begun) >= bounds.For {
			done = true
			cancel()
			return
		}
		away := bounds.OneKey && len(seen) == 0 && len(b.Server.Away) > 0 && b.Local.Sub(begun) >= silentFor
		if !away && (b.Sweep.Passes == 0 || len(seen) < b.Sweep.Matched) || b.Local.Sub(begun) < bounds.Least {
			return
		}
		if found.IsZero() {
			found = b.Local
		}
		if len(partial) == 0 || b.Local.Sub(found) >= partialFor {
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

// ReadKey reads one of the Options.Keys of s once, and returns the whole batch too, which
// says at what instant it was read and what could not be told. A key that cannot be read is an
// error, whose sentence names it; one that does not exist is a reading of Type "none".
func ReadKey(ctx context.Context, s Source, key string) (model.Batch, model.Reading, error) {
	batch, err := OnceWithin(ctx, s, Bounds{OneKey: true})
	if err != nil {
		return model.Batch{}, model.Reading{}, err
	}
	i := slices.IndexFunc(batch.Readings, func(r model.Reading) bool { return r.Key == key })
	switch {
	case i < 0 && len(batch.Server.Away) > 0:
		return model.Batch{}, model.Reading{}, Away(fmt.Sprintf("%s was not read: %s", safetext.Clean(key), batch.Server.Away[0].Err))
	case i < 0:
		return model.Batch{}, model.Reading{}, Away(safetext.Clean(key) + " was not read: the server gave no answer for it")
	}
	r := batch.Readings[i]
	if r.Err != "" {
		return model.Batch{}, model.Reading{}, fmt.Errorf("%s cannot be read: %s", safetext.Clean(key), r.Err)
	}
	return batch, r, nil
}
