package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ratescope/internal/backoff"
	"ratescope/model"
	"ratescope/model/record"
)

// reader reads the streams of one exporter, one after the other.
type reader struct {
	source *Source
	i      int
	events chan<- event
	limit  *rate.Limiter

	mu     sync.Mutex
	cancel context.CancelFunc // of the stream that is read; nil without one
}

// end ends the stream that is read. It may be called from any goroutine.
func (r *reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
}

// run reads until ctx ends, with a growing wait after every stream that ended.
func (r *reader) run(ctx context.Context) {
	var wait backoff.Exponential
	for ctx.Err() == nil {
		read, err := r.stream(ctx)
		if read {
			wait = backoff.Exponential{}
		}
		select {
		case r.events <- event{from: r.i, err: err}:
		case <-ctx.Done():
			return
		}
		pause := wait.Next()
		if errors.Is(err, errOtherServer) || errors.Is(err, errTooMuch) {
			pause = refusedFor
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// refusedFor is how long an exporter is left alone that does not belong here.
const refusedFor = 10 * time.Second

// stream reads one stream to its end, and reports whether any batch came. The error, which is
// never nil, says why it ended.
func (r *reader) stream(ctx context.Context) (read bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	body, err := r.source.open(ctx, r.i)
	if err != nil {
		return false, err
	}
	defer body.Close()
	stop := context.AfterFunc(ctx, func() { body.Close() })
	defer stop()
	in := &bounded{body, mostBytes}
	recording, err := record.NewReader(in)
	if err != nil {
		return false, r.explain(ctx, in, err)
	}
	for {
		b, err := recording.Next()
		if err != nil {
			return read, r.explain(ctx, in, err)
		}
		in.left = mostBytes
		if err := r.limit.Wait(ctx); err != nil {
			return read, errSilent
		}
		if err := r.deliver(ctx, b, !read); err != nil {
			return read, err
		}
		read = true
	}
}

// deliver hands a batch on, and waits until it was taken.
func (r *reader) deliver(ctx context.Context, b model.Batch, first bool) error {
	e := event{from: r.i, batch: b, first: first, done: make(chan error, 1)}
	select {
	case r.events <- e:
	case <-ctx.Done():
		return errSilent
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

// explain says in words why a stream ended.
func (r *reader) explain(ctx context.Context, in *bounded, err error) error {
	switch {
	case in.left <= 0:
		return errTooMuch
	case ctx.Err() != nil:
		return errSilent
	case errors.Is(err, record.ErrNotRecording):
		return errors.New("does not answer with a stream of batches: it is no ratescope exporter")
	case errors.Is(err, io.EOF), errors.As(err, new(*record.Damage)):
		return errors.New("has ended the stream")
	}
	return err
}
