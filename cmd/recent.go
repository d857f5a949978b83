package cmd

import (
	"context"
	"io"
	"sync"
	"time"

	"ratescope/feed"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// What is kept in memory for a capsule.
const (
	recentSpan  = 10 * time.Minute
	recentBytes = 40 << 20 // at most, beside the latest readings and what is being compressed
)

// recentBatches keeps the last minutes of a running dashboard in memory, compressed. Put never
// blocks: one goroutine of the Recent does the work. It is safe for concurrent use. Close it.
type recentBatches struct {
	box  *feed.Mailbox
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	tail  *record.Tail
	fired []model.Fired // since the last batch was written
	err   error
}

// newRecent returns a Recent; of h the instant and the server are set from what it gets.
func newRecent(h record.Header) *recentBatches {
	ctx, stop := context.WithCancel(context.Background())
	r := &recentBatches{box: feed.NewMailbox(), stop: stop, done: make(chan struct{}), tail: record.NewTail(h, recentSpan, recentBytes)}
	go r.run(ctx)
	return r
}

func (r *recentBatches) run(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.box.Ready():
			r.mu.Lock()
			r.take()
			r.mu.Unlock()
		}
	}
}

// take writes what waits. r.mu is held.
func (r *recentBatches) take() {
	b, ok := r.box.TryTake()
	if !ok || r.err != nil {
		return
	}
	b.Fired, r.fired = append(b.Fired, r.fired...), nil
	r.err = r.tail.Write(b)
}

// Put hands over a batch that is not modified any more. It never blocks.
func (r *recentBatches) Put(b model.Batch) { r.box.Put(b) }

// maxRecentFired bounds the requests that wait for a batch, which never comes while the
// server is silent.
const maxRecentFired = 20_000

// Fired hands over a request that was fired; it goes into the next batch. It never waits for
// more than the writing of one.
func (r *recentBatches) Fired(f model.Fired) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fired) < maxRecentFired {
		r.fired = append(r.fired, f)
	}
}

// Begin returns the instant from which on everything is kept; 0 before the first batch.
func (r *recentBatches) Begin() limiter.Instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	return r.tail.Begin()
}

// Cut reports whether less than recentSpan is kept because more would take too much memory.
func (r *recentBatches) Cut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tail.Cut()
}

// WriteTo writes everything that was put, as far as it is kept, as a finished recording.
func (r *recentBatches) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	if r.err != nil {
		return 0, r.err
	}
	return r.tail.WriteTo(w)
}

// Close ends the goroutine.
func (r *recentBatches) Close() {
	r.stop()
	<-r.done
}
