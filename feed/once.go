package feed

import (
	"context"

	"ratescope/model"
)

// Once runs s until a batch that follows a whole pass of discovery, and returns it.
func Once(ctx context.Context, s Source) (model.Batch, error) { return model.Batch{}, nil }
