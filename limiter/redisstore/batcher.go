package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/internal/absent"
)

// Batcher sends decisions of many goroutines together: while some batches are on their way,
// calls that come meanwhile wait for the next one, as in a group commit. From many
// goroutines that makes a multiple of the decisions a second, because client and server
// wake up once for all of them. A single goroutine gains nothing.
//
// It is a Client, for New, over any client of go-redis. It repeats nothing: a call that was
// sent and got no answer has an unknown outcome. The context of each decision holds for
// that decision alone; one that ends before its batch is sent is not sent. It may be used by
// many goroutines, and keeps none running while there are no calls.
type Batcher struct {
	client     BatchClient
	concurrent int
	mu         sync.Mutex
	queue      []*call
	busy       int // batches on their way
}

// BatchClient is what a Batcher needs: every client of go-redis is one.
type BatchClient interface {
	Client
	Pipeliner
}

// maxBatch is how many commands are sent together at most. A batch is answered as a
// whole, so those in a longer one would only wait for each other.
const maxBatch = 64

// call is a command that waits for its batch, and then for its answer.
type call struct {
	cmd  redis.Cmder
	done chan struct{} // receives when the answer is there
	sent bool          // its batch is on its way; guarded by Batcher.mu
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// NewBatcher returns a Batcher over a client, with at most concurrent batches under way at
// once, each of which takes a connection of its pool. Two are a good number for one server.
func NewBatcher(c BatchClient, concurrent int) (*Batcher, error) {
	if absent.Value(c) {
		return nil, fmt.Errorf("%w: there is no client: pass one of go-redis", limiter.ErrBadRequest)
	}
	if concurrent < 1 {
		return nil, fmt.Errorf("%w: %d batches at once send nothing: use 1 or more", limiter.ErrBadRequest, concurrent)
	}
	return &Batcher{client: c, concurrent: concurrent}, nil
}

// Pipeline implements Pipeliner: a pipeline is a batch already.
func (b *Batcher) Pipeline() redis.Pipeliner { return b.client.Pipeline() }

// errNotSent is a command whose context ended before it was sent.
var errNotSent = errors.New("the request was not sent")

// Process implements Client. It returns when the command was answered or its context is
// over, whichever comes first.
func (b *Batcher) Process(ctx context.Context, cmd redis.Cmder) error {
	if ctx.Done() == nil && b.alone() {
		_ = b.client.Process(ctx, cmd)
		b.next()
		return cmd.Err()
	}
	c := calls.Get().(*call)
	c.cmd, c.sent = cmd, false
	b.mu.Lock()
	b.queue = append(b.queue, c)
	if b.busy < b.concurrent {
		b.busy++
		go b.drain()
	}
	b.mu.Unlock()
	select {
	case <-c.done:
		c.cmd = nil
		calls.Put(c)
		return cmd.Err()
	case <-ctx.Done():
		return b.abandon(ctx, c)
	}
}

// alone reports whether no other call waits and takes the place of a batch for a call that
// nothing can cancel: it is sent from the goroutine of its caller, which saves two switches.
func (b *Batcher) alone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.busy == b.concurrent {
		return false
	}
	b.busy++
	return true
}

// next sends what has come since alone, or gives up the place of a batch.
func (b *Batcher) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		go b.drain()
		return
	}
	b.busy--
}

// abandon leaves the queue. A command that was sent cannot be cancelled, and is not waited
// for; the batch owns it from then on.
func (b *Batcher) abandon(ctx context.Context, c *call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.sent {
		select {
		case <-c.done: // both at once
			return c.cmd.Err()
		default:
			return ctx.Err()
		}
	}
	for i, other := range b.queue {
		if other == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			break
		}
	}
	return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
}

// drain sends batches until no call waits.
func (b *Batcher) drain() {
	var batch []*call
	for {
		b.mu.Lock()
		n := min(len(b.queue), maxBatch)
		if n == 0 {
			b.busy--
			b.mu.Unlock()
			return
		}
		batch = append(batch[:0], b.queue[:n]...)
		b.queue = b.queue[:copy(b.queue, b.queue[n:])]
		for _, c := range batch {
			c.sent = true
		}
		b.mu.Unlock()
		b.send(batch)
		for _, c := range batch {
			c.done <- struct{}{}
		}
	}
}

// send makes one round trip. Its time is bounded by the client's timeouts, not by the
// context of one of the calls.
func (b *Batcher) send(batch []*call) {
	ctx := context.Background()
	if len(batch) == 1 {
		_ = b.client.Process(ctx, batch[0].cmd)
		return
	}
	pipe := b.client.Pipeline()
	for _, c := range batch {
		_ = pipe.Process(ctx, c.cmd) // queues it; the outcome is on the command
	}
	_, _ = pipe.Exec(ctx) // the first error of the commands, each of which holds its own
}
