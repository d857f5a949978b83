package limiter

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Request is one of a batch.
type Request struct {
	Key   string
	Limit Limit
	Cost  int64 // 0 is a peek
}

// Answer is what became of one request of a batch.
type Answer struct {
	Decision Decision
	Err      error // as AllowN returns it
}

// Pipeliner is a client that can send several commands at once, as all of go-redis are.
type Pipeliner interface {
	Pipeline() redis.Pipeliner
}

// AllowBatch decides about many requests in one round trip. They are independent: each is
// admitted or denied for itself, in order, and one that fails does not stop the others.
// The error is that of the batch as a whole.
func (r *Redis) AllowBatch(ctx context.Context, requests []Request) ([]Answer, error) {
	client, ok := r.client.(Pipeliner)
	if !ok {
		return nil, fmt.Errorf("%w: this client cannot send a batch: it has no Pipeline", ErrNotOnStore)
	}
	if r.tallies != nil {
		return nil, fmt.Errorf("%w: streams without totals are decided about one at a time", ErrNotOnStore)
	}
	if ctx == nil {
		return nil, fmt.Errorf("%w: the context is nil: pass context.Background()", ErrBadRequest)
	}
	answers := make([]Answer, len(requests))
	cmds := make([]*decisionCmd, len(requests))
	acts := make([]action, len(requests))
	boxes := make([]*boxed, len(requests))
	pipe := client.Pipeline()
	for i, q := range requests {
		b, err := r.check(ctx, q.Key, q.Limit, q.Cost)
		if err != nil {
			answers[i].Err = err
			continue
		}
		if q.Cost == 0 || q.Limit.Count == 0 && r.algorithm.bursts() {
			acts[i] = looks
		}
		boxes[i] = b
		cmds[i] = r.command(ctx, q.Key, b, q.Cost, acts[i])
		_ = pipe.Process(ctx, cmds[i]) // queues it; the outcome is on the command
	}
	if pipe.Len() == 0 {
		return answers, nil
	}
	_, _ = pipe.Exec(ctx) // the first error of the commands, each of which holds its own
	for i, cmd := range cmds {
		if cmd != nil {
			answers[i] = r.collect(ctx, requests[i], boxes[i], cmd, acts[i])
		}
	}
	return answers, nil
}

// collect reads one answer of a batch. A script that the server did not know has decided
// nothing, so it is sent again, with its text.
func (r *Redis) collect(ctx context.Context, q Request, b *boxed, cmd *decisionCmd, act action) (a Answer) {
	text, err := cmd.Val(), cmd.Err()
	switch {
	case err == nil:
	case strings.HasPrefix(err.Error(), "NOSCRIPT"), act == looks && unknownCommand(err):
		text, err = r.run(ctx, newDecisionCmd(ctx, cmd.script, cmd.Args()), subject{key: q.Key, limit: q.Limit}, act)
	default:
		err = r.explainFailure(ctx, err, subject{key: q.Key, limit: q.Limit})
	}
	if err != nil {
		return Answer{Err: err}
	}
	a.Decision, a.Err = r.decode(q.Key, b, q.Cost, act != charges, text)
	return a
}
