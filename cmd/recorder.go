package cmd

import (
	"context"
	"sync"

	"ratescope/feed"
	"ratescope/model"
)

// recorder writes the batches of a running dashboard to a file. Put never blocks on the
// disk: one goroutine of the Recorder does the writing.
type recorder struct {
	box  *feed.Mailbox
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	file batchWriter // the goroutine's until done is closed

	mu     sync.Mutex
	fired  []model.Fired // since the last batch was written
	closed bool
}

// newRecorder starts a recording; r.For is ignored. The error is a usageError.
func newRecorder(r recording) (*recorder, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	rec := &recorder{box: feed.NewMailbox(), stop: stop, done: make(chan struct{}), file: batchWriter{recording: r}}
	go rec.run(ctx)
	return rec, nil
}

// run writes until ctx has ended and nothing is left to take.
func (r *recorder) run(ctx context.Context) {
	defer close(r.done)
	for {
		b, err := r.box.Take(ctx) // a batch that is there is taken even when ctx has ended
		if err != nil {
			return
		}
		r.mu.Lock()
		b.Fired, r.fired = append(b.Fired, r.fired...), nil
		r.mu.Unlock()
		if !r.file.full && r.file.err == nil {
			r.file.write(b)
		}
	}
}

// Put hands over a batch that is not modified any more. It never blocks, and must not be
// called after Close.
func (r *recorder) Put(b model.Batch) { r.box.Put(b) }

// Fired hands over a request that was fired; it goes into the next batch. It never blocks,
// and does nothing after Close.
func (r *recorder) Fired(f model.Fired) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.fired = append(r.fired, f)
	}
}

// Close writes the last batch, ends the file and describes what it holds.
func (r *recorder) Close() (account string, err error) {
	r.stop()
	<-r.done
	r.mu.Lock()
	r.closed, r.fired = true, nil
	r.mu.Unlock()
	if err := r.file.close(); err != nil {
		return "", err
	}
	if r.file.out == nil {
		return "nothing was recorded", nil
	}
	return r.file.account(), nil
}
