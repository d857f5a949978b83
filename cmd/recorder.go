package cmd

import (
	"context"
	"sync"

	"ratescope/feed"
	"ratescope/model"
)

// drain hands batches to a writer on a goroutine of its own, so that Put never waits for the disk. Make one
// with newDrain.
type drain struct {
	box   *feed.Mailbox
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended
	write func(model.Batch)

	mu sync.Mutex // held while write runs
}

func newDrain(write func(model.Batch)) *drain {
	ctx, stop := context.WithCancel(context.Background())
	d := &drain{box: feed.NewMailbox(), stop: stop, done: make(chan struct{}), write: write}
	go func() {
		defer close(d.done)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-d.box.Ready():
				d.mu.Lock()
				d.take()
				d.mu.Unlock()
			}
		}
	}()
	return d
}

// take writes what waits. d.mu is held.
func (d *drain) take() {
	if b, ok := d.box.TryTake(); ok {
		d.write(b)
	}
}

// Put hands over a batch that is not modified any more. It never blocks, and must not be called after close.
func (d *drain) Put(b model.Batch) { d.box.Put(b) }

// end writes the last batch and ends the goroutine.
func (d *drain) end() {
	d.stop()
	<-d.done
	d.take()
}

// recorder writes the batches of a running dashboard to a file.
type recorder struct {
	*drain
	file *batchWriter
}

// newRecorder starts a recording; r.For is ignored. The error is a usageError.
func newRecorder(r recording) (*recorder, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	w := &batchWriter{recording: r}
	return &recorder{newDrain(func(b model.Batch) {
		if !w.full && w.err == nil {
			w.write(b)
		}
	}), w}, nil
}

// Close writes the last batch, ends the file and describes what it holds.
func (r *recorder) Close() (account string, err error) {
	r.end()
	if err := r.file.close(); err != nil {
		return "", err
	}
	if r.file.out == nil {
		return "nothing was recorded", nil
	}
	return r.file.account(), nil
}
