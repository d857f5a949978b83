package replay

import (
	"context"
	"fmt"
	"io"

	"ratescope/internal/file"
	"ratescope/model/record"
	"ratescope/model/safetext"
)

// Open finds its way through the recording of that name, and returns what ends it. The
// error is one sentence that names the file.
func Open(ctx context.Context, name string) (*record.File, io.Closer, error) {
	under, err := file.Open(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := record.Open(ctx, under)
	if err != nil {
		under.Close()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("%s cannot be replayed: %w", safetext.Clean(name), err)
	}
	return f, under, nil
}
