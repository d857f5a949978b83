package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Gatherer sends decisions that are asked for at the same time together: while some are on
// their way, those that come meanwhile wait for the next departure, as in a group commit.
// From many goroutines that makes a multiple of the decisions a second, because client and
// server wake up once for all of them. A single goroutine gains nothing.
//
// It is a Scripter, for NewRedis, over any client of go-redis. It repeats nothing: what
// had left when an answer failed to come has an unknown outcome. The context of each
// decision holds for that decision alone; one that ends before the departure is not sent.
// It may be used by many goroutines, and keeps none when nothing is asked.
type Gatherer struct {
	client GatherClient
	lanes  int
	mu     sync.Mutex
	queue  []*passenger
	busy   int // lanes in use
}

// GatherClient is what a Gatherer needs: every client of go-redis is one.
type GatherClient interface {
	Scripter
	Pipeliner
}

// maxGathered is how many commands leave together at most. A batch is answered as a
// whole, so those in a longer one would wait for each other in vain.
const maxGathered = 64

// passenger is a command that waits for its departure, and then for its answer.
type passenger struct {
	cmd  redis.Cmder
	done chan struct{} // receives when the answer is there
	left bool          // on its way; guarded by Gatherer.mu
}

var passengers = sync.Pool{New: func() any { return &passenger{done: make(chan struct{}, 1)} }}

// Gather returns a Gatherer over a client, with at most so many departures under way at
// once, each of which takes a connection of its pool. Two are a good number for one server.
func Gather(c GatherClient, departures int) (*Gatherer, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: there is no client: pass one of go-redis", ErrBadRequest)
	}
	if departures < 1 {
		return nil, fmt.Errorf("%w: %d departures at once send nothing: use 1 or more", ErrBadRequest, departures)
	}
	return &Gatherer{client: c, lanes: departures}, nil
}

// Pipeline implements Pipeliner: a batch is together already.
func (g *Gatherer) Pipeline() redis.Pipeliner { return g.client.Pipeline() }

// errNotSent is a command whose context ended before it left.
var errNotSent = errors.New("the request was not sent")

// Process implements Scripter. It returns when the command was answered or its context is
// over, whichever comes first.
func (g *Gatherer) Process(ctx context.Context, cmd redis.Cmder) error {
	p := passengers.Get().(*passenger)
	p.cmd, p.left = cmd, false
	g.mu.Lock()
	g.queue = append(g.queue, p)
	if g.busy < g.lanes {
		g.busy++
		go g.depart()
	}
	g.mu.Unlock()
	select {
	case <-p.done:
		p.cmd = nil
		passengers.Put(p)
		return cmd.Err()
	case <-ctx.Done():
		return g.giveUp(ctx, p)
	}
}

// giveUp leaves the queue. Who has left already cannot be called back, and is not waited
// for; its command belongs to the departure from then on.
func (g *Gatherer) giveUp(ctx context.Context, p *passenger) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.left {
		select {
		case <-p.done: // both at once
			return p.cmd.Err()
		default:
			return ctx.Err()
		}
	}
	for i, other := range g.queue {
		if other == p {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			break
		}
	}
	return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
}

// depart sends what waits, again and again until nothing does.
func (g *Gatherer) depart() {
	var aboard []*passenger
	for {
		g.mu.Lock()
		n := min(len(g.queue), maxGathered)
		if n == 0 {
			g.busy--
			g.mu.Unlock()
			return
		}
		aboard = append(aboard[:0], g.queue[:n]...)
		g.queue = g.queue[:copy(g.queue, g.queue[n:])]
		for _, p := range aboard {
			p.left = true
		}
		g.mu.Unlock()
		g.send(aboard)
		for _, p := range aboard {
			p.done <- struct{}{}
		}
	}
}

// send makes one round trip. Its time is bounded by the client's timeouts, not by the
// context of one of those aboard.
func (g *Gatherer) send(aboard []*passenger) {
	ctx := context.Background()
	if len(aboard) == 1 {
		_ = g.client.Process(ctx, aboard[0].cmd)
		return
	}
	pipe := g.client.Pipeline()
	for _, p := range aboard {
		_ = pipe.Process(ctx, p.cmd) // queues it; the outcome is on the command
	}
	_, _ = pipe.Exec(ctx) // the first error of the commands, each of which holds its own
}
