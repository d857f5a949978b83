package limiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Scripter is what a Redis limiter needs of its client. Every client of go-redis is
// one: single, sentinel, cluster, ring, and the automatic pipeliner.
type Scripter interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Redis decides on a Redis server, in one script call.
type Redis struct {
	settings
	algorithm Algorithm
	client    Scripter
}

// NewRedis returns a limiter that keeps its keys on the server behind c.
func NewRedis(c Scripter, a Algorithm, opts ...Option) (*Redis, error) {
	if a == Unknown || int(a) >= len(algorithmNames) {
		return nil, fmt.Errorf("%w: %s is not an algorithm", ErrBadRequest, a)
	}
	return &Redis{settings: settingsOf(opts), algorithm: a, client: c}, nil
}

var errNotYet = errors.New("not available yet")

// AllowN implements Limiter.
func (r *Redis) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return Decision{}, errNotYet
}

// Peek implements Limiter.
func (r *Redis) Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return Decision{}, errNotYet
}

// Reset implements Limiter.
func (r *Redis) Reset(ctx context.Context, key string) error { return errNotYet }
