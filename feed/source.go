package feed

import (
	"context"

	"ratescope/feed/watch"
	"ratescope/model"
)

// Source is something that looks at keys and reports what it saw.
type Source interface {
	// Run looks and calls emit, from one goroutine, at every refresh until ctx ends, and
	// then returns nil with no goroutine left behind. It returns an error only for what
	// can never work; a server that is away is reported in the batches. A Batch belongs
	// to its receiver once emitted. A source may be run once.
	Run(ctx context.Context, emit func(model.Batch)) error
}

// Focuser is a source that can read some keys sooner and closer than the rest.
type Focuser interface {
	// Focus says which keys (Reading.Key) are on screen, the most important first. It
	// replaces what was said before, and may be called from any goroutine.
	Focus(keys []string)
}

// Options says which server is watched, which of its keys, and how often. It is the same type
// from the command line to the reader.
type Options = watch.Options
