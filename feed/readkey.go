package feed

import (
	"context"
	"fmt"
	"slices"

	"ratescope/model"
	"ratescope/model/safetext"
)

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
