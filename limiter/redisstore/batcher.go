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

// Batcher sends the decisions of many goroutines together: calls that come while batches are on the
// wire wait for the next batch, as in a group commit. Many goroutines get a multiple of the
// decisions a second, because client and server wake up once for all calls of a batch. A single
// goroutine gains nothing.
//
// It implements Client over any client of go-redis. It repeats nothing: a call without an answer has
// an unknown outcome. The context of a decision applies to that decision alone; if it ends before
// its batch is sent, the decision is not sent. A Batcher is safe for concurrent use, and has no
// goroutine while there are no calls.
type Batcher struct {
	client     BatchClient
	concurrent int // greatest number of batches on the wire
	mu         sync.Mutex
	queue      []*call
	busy       int // batches on the wire
}

// BatchClient is the client of a Batcher. Every client of go-redis implements it.
type BatchClient interface {
	Client
	Pipeliner
}

// maxBatch bounds the commands of a batch. All of them are answered together, so that in a longer
// batch they would only wait for each other.
const maxBatch = 64

// call is a command that waits for its batch and then for its answer.
type call struct {
	cmd  redis.Cmder
	done chan struct{} // gets a value when the answer is there
	sent bool          // its batch is on the wire; guarded by Batcher.mu
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// NewBatcher returns a Batcher over a client, with at most concurrent batches on the wire at the same
// time. Each takes a connection of the client's pool. Two are a good number for one server.
func NewBatcher(c BatchClient, concurrent int) (*Batcher, error) {
	if absent.Value(c) {
		return nil, fmt.Errorf("%w: there is no client: pass one of go-redis", limiter.ErrBadRequest)
	}
	if concurrent < 1 {
		return nil, fmt.Errorf("%w: %d batches at once send nothing: use 1 or more", limiter.ErrBadRequest, concurrent)
	}
	return &Batcher{client: c, concurrent: concurrent}, nil
}

// Pipeline implements Pipeliner. The pipeline is one of the client, since it needs no batch.
func (b *Batcher) Pipeline() redis.Pipeliner { return b.client.Pipeline() }

// errNotSent is the error of a command whose context ended before it was sent.
var errNotSent = errors.New("the request was not sent")

// Process implements Client. It returns when the command is answered or its context has ended.
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

// alone reports whether no other call waits, and then counts the call as a batch. A call whose
// context cannot end is sent from its own goroutine in this case, which saves two switches.
func (b *Batcher) alone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.busy == b.concurrent {
		return false
	}
	b.busy++
	return true
}

// next ends a call that was sent alone, and sends the calls that have come meanwhile.
func (b *Batcher) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		go b.drain()
		return
	}
	b.busy--
}

// abandon removes a call from the queue, because its context has ended. A command that was sent
// cannot be canceled: abandon does not wait for its answer, and the batch owns it from then on.
func (b *Batcher) abandon(ctx context.Context, c *call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.sent {
		select {
		case <-c.done: // the answer came at the same time
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

// drain sends batches until no call is waiting.
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

// send sends a batch in one round trip, whose duration is bounded by the client's timeouts and not by
// the context of a call.
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
