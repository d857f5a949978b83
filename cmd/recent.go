package cmd

import (
	"io"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// What is kept in memory for a capsule.
const (
	recentSpan  = 10 * time.Minute
	recentBytes = 40 << 20 // at most, beside the latest readings and what is being compressed
)

// recentBatches keeps the last minutes of a running dashboard in memory, compressed. It is safe for
// concurrent use. End it.
type recentBatches struct {
	*drain
	tail *record.Tail
	err  error
}

// newRecent returns what keeps the last minutes; of h the instant and the server are set from what it gets.
func newRecent(h record.Header) *recentBatches {
	r := &recentBatches{tail: record.NewTail(h, recentSpan, recentBytes)}
	r.drain = newDrain(func(b model.Batch) {
		if r.err == nil {
			r.err = r.tail.Write(b)
		}
	})
	return r
}

// locked calls f when everything that was put is written, and nothing else is meanwhile.
func (r *recentBatches) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	f()
}

// Begin returns the instant from which on everything is kept; 0 before the first batch.
func (r *recentBatches) Begin() (at limiter.Instant) {
	r.locked(func() { at = r.tail.Begin() })
	return at
}

// Cut reports whether less than recentSpan is kept because more would take too much memory.
func (r *recentBatches) Cut() (cut bool) {
	r.locked(func() { cut = r.tail.Cut() })
	return cut
}

// WriteTo writes everything that was put, as far as it is kept, as a finished recording.
func (r *recentBatches) WriteTo(w io.Writer) (n int64, err error) {
	r.locked(func() {
		if err = r.err; err == nil {
			n, err = r.tail.WriteTo(w)
		}
	})
	return n, err
}
