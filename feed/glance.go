package feed

import (
	"context"
	"fmt"
	"slices"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Glance reads one of the Options.Keys of s once. The instant is that of the whole
// batch. A key that cannot be read is an error, whose sentence names it; one that does
// not exist is a reading of Type "none".
func Glance(ctx context.Context, s Source, key string) (limiter.Instant, model.Reading, error) {
	batch, err := Once(ctx, s)
	if err != nil {
		return 0, model.Reading{}, err
	}
	i := slices.IndexFunc(batch.Readings, func(r model.Reading) bool { return r.Key == key })
	if i < 0 {
		return 0, model.Reading{}, fmt.Errorf("%s was not read: the server gave no answer for it", safetext.Clean(key))
	}
	r := batch.Readings[i]
	if r.Err != "" {
		return 0, model.Reading{}, fmt.Errorf("%s cannot be read: %s", safetext.Clean(key), r.Err)
	}
	return batch.At, r, nil
}
