package cmd

import (
	"context"
	"errors"

	"ratescope/feed"
	"ratescope/internal/panics"
	"ratescope/model"
)

// eachBatch runs src and gives take every batch, on the caller's goroutine, until take returns
// false, src ends or ctx ends. It returns the error of src, which is nil where it was made to end.
func eachBatch(ctx context.Context, src feed.Source, take func(model.Batch) (more bool)) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	box, ended := feed.NewMailbox(), make(chan error, 1)
	go func() {
		ended <- panics.Call(func() error { return src.Run(within, box.Put) })
		stop()
	}()
	for {
		if b, err := box.Take(within); err != nil || !take(b) {
			break
		}
	}
	stop()
	return <-ended
}

// unready reports whether a batch comes before anything is known: the server has not answered, or
// its keys are still being looked for. The error says why the server cannot be reached; one that may only
// stand still is waited for.
func unready(b model.Batch) (bool, error) {
	switch {
	case b.Server.Link == model.Live:
		return len(b.Readings) == 0 && b.Sweep.Passes == 0, nil
	case b.Server.Err != "" && !feed.MayAnswer(b.Server):
		return true, errors.New(b.Server.Err)
	}
	return true, nil
}
