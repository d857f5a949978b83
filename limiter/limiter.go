package limiter

import "context"

// Limiter decides about requests on named keys. Memory and Redis are Limiters; all
// their methods may be called from many goroutines at once.
type Limiter interface {
	// AllowN decides about a request of cost n and charges it when it is admitted. The limit
	// may be another one every time, but in one window: AllowKeys decides about several
	// windows, and of keys that are asked about under different ones in turn a store says what
	// its layout makes of it. Cost 0 is a Peek. A cost above the limit (or burst) is denied with RetryAfter Never and
	// changes nothing. An error means that nothing was decided; errors.Is tells
	// ErrUnknownOutcome, where the store may have charged the request all the same.
	AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error)

	// Peek says what AllowN would answer, and never writes: no count, no expiry.
	Peek(ctx context.Context, key string, limit Limit, n int64) (Decision, error)

	// Reset makes the key as new under the limit.
	Reset(ctx context.Context, key string, limit Limit) error
}

// Allow is AllowN with a cost of 1.
func Allow(ctx context.Context, l Limiter, key string, limit Limit) (Decision, error) {
	return l.AllowN(ctx, key, limit, 1)
}
