package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

// Request is a request of a batch.
type Request struct {
	Key   string
	Limit limiter.Limit
	Cost  int64 // 0 is a peek
}

// Answer is the decision about one request of a batch.
type Answer struct {
	Decision limiter.Decision
	Err      error // as AllowN returns it
}

// Pipeliner is a client that can send several commands together, as all clients of go-redis can.
type Pipeliner interface {
	Pipeline() redis.Pipeliner
}

// AllowBatch decides about many requests in one round trip, to each node of a cluster or ring at the
// same time. The requests are independent: those of a node are
// decided one after the other in their order, and an error of one does not stop the others. The
// returned error is one of the batch as a whole.
func (s *Store) AllowBatch(ctx context.Context, requests []Request) ([]Answer, error) {
	if s == nil {
		return nil, errNotMade
	}
	if s.pipes == nil {
		return nil, fmt.Errorf("%w: this client cannot send a batch: it has no Pipeline", limiter.ErrNotOnStore)
	}
	if s.sums != nil {
		return nil, fmt.Errorf("%w: streams without totals are decided about one at a time", limiter.ErrNotOnStore)
	}
	if ctx == nil {
		return nil, fmt.Errorf("%w: the context is nil: pass context.Background()", limiter.ErrBadRequest)
	}
	answers := make([]Answer, len(requests))
	sent := make([]sentRequest, len(requests))
	pipes := make(map[*redis.Client]redis.Pipeliner, 1)
	for i, q := range requests {
		p, err := s.check(ctx, q.Key, q.Limit, q.Cost)
		if err != nil {
			answers[i].Err = err
			continue
		}
		act := charges
		if q.Cost == 0 || q.Limit.Count == 0 && s.algorithm.Bursts() {
			act = looks
		}
		sent[i] = sentRequest{Request: q, limit: p, act: act, cmd: s.command(ctx, s.named(q.Key), p, q.Cost, act)}
		sent[i].node = s.nodes.of(s.named(q.Key))
		if pipes[sent[i].node] == nil {
			pipes[sent[i].node] = s.pipes.Pipeline()
		}
		_ = pipes[sent[i].node].Process(ctx, sent[i].cmd) // queues it; the outcome is on the command
	}
	answered := execute(ctx, pipes)
	for i, one := range sent {
		switch {
		case one.cmd == nil:
		case answered[one.node]:
			answers[i] = s.collect(ctx, one)
		default:
			answers[i].Err = failure(ctx.Err())
		}
	}
	return answers, nil
}

// execute sends a pipeline to each node, all at the same time, and returns which were answered before
// the context ended. The commands of the others belong to the client until its own timeouts end them.
func execute(ctx context.Context, pipes map[*redis.Client]redis.Pipeliner) map[*redis.Client]bool {
	done := make(chan *redis.Client, len(pipes))
	for node, pipe := range pipes {
		if ctx.Done() == nil && len(pipes) == 1 {
			_, _ = pipe.Exec(ctx) // the first error of the commands, each of which holds its own
			done <- node
			break
		}
		go func() {
			_, _ = pipe.Exec(ctx)
			done <- node
		}()
	}
	answered := make(map[*redis.Client]bool, len(pipes))
	for range pipes {
		select {
		case node := <-done:
			answered[node] = true
		case <-ctx.Done():
			return answered
		}
	}
	return answered
}

// sentRequest is a request of a batch with its command.
type sentRequest struct {
	Request
	limit *prepared
	act   action
	cmd   *decisionCmd
	node  *redis.Client // nil for one server, and where it is not known
}

// collect returns the answer to one request of a batch. If the server did not know the script, it
// has decided nothing, and the request is sent again with the script's text.
func (s *Store) collect(ctx context.Context, q sentRequest) (a Answer) {
	text, err := q.cmd.Val(), q.cmd.Err()
	about := subject{key: s.named(q.Key), limits: q.limit.limits}
	switch {
	case err == nil:
	case strings.HasPrefix(err.Error(), "NOSCRIPT"), q.act == looks && unknownCommand(err):
		text, err = s.run(ctx, newDecisionCmd(ctx, q.cmd.script, q.cmd.Args()), about, q.act)
	default:
		err = s.explainFailure(ctx, err, about)
	}
	if err != nil {
		return Answer{Err: err}
	}
	a.Decision, a.Err = s.decode(ctx, about, q.limit, q.Cost, q.act != charges, text)
	return a
}
