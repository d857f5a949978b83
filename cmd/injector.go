package cmd

import (
	"context"
	"sync"

	"ratescope/model"
	"ratescope/tui/firing"
)

// recordedInjector is the injector of a dashboard that writes what it fires into the
// recording that is under way, so that a replay tells those requests from the others.
type recordedInjector struct {
	firing.Injector

	keep func(model.Fired) // gets every request that was fired; may be nil

	mu       sync.Mutex
	recorder *recorder // the last one that was started; nil before
}

// fireKey implements firing.Injector.
func (i *recordedInjector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	return i.Injector.Fire(ctx, s, func(f model.Fired) {
		if r := i.current(); r != nil {
			r.Fired(f)
		}
		if i.keep != nil {
			i.keep(f)
		}
		report(f)
	})
}

func (i *recordedInjector) current() *recorder {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.recorder
}

// record begins a recording.
func (i *recordedInjector) record(r recording) (*recorder, error) {
	recorder, err := newRecorder(r)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.recorder = recorder
	return recorder, nil
}
