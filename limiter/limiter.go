package limiter

import (
	"context"
	"errors"
	"math"
	"time"
)

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

// Never is the RetryAfter of a request that no wait will admit, because its cost is above
// the limit (or burst) itself. It is the longest duration, so that a loop that sleeps for
// RetryAfter does not spin.
const Never time.Duration = math.MaxInt64

// Decision is the answer to one request, with what explains it.
type Decision struct {
	Allowed bool
	At      Instant // when it was decided, on the store's clock
	Limit   Limit   // the limit that was asked for
	Cost    int64   // units that the request takes; 0 is a peek

	Used      int64 // charged to the key after this decision
	Remaining int64 // what could still be admitted now; never below 0

	// RetryAfter is 0 when allowed, Never when no wait helps, else the smallest wait
	// after which this same request would be admitted if nothing else happened.
	RetryAfter time.Duration
	// ResetAfter is how long until the key is as new if nothing else happens.
	ResetAfter time.Duration

	// Window algorithms: the clock-aligned (or anchored) windows around At. The
	// estimate is Previous × Weight, rounded as the convention says, + Current.
	// Zero for algorithms that have no such windows; and where a store would have to look
	// for them: Memory and Redis leave them out for the sliding log and the stream
	// counter, and Redis leaves out Previous of the fixed window. A State fills them in.
	Previous, Current int64
	Weight, Estimate  float64
	Start, End        Instant
}

// The errors that callers tell apart with errors.Is.
var (
	// ErrBadRequest is a key, limit, cost or context that cannot be decided about. The
	// store was not asked.
	ErrBadRequest = errors.New("bad request")
	// ErrUnknownOutcome means that the request may or may not have been charged: no
	// answer came. It is never sent a second time, for that could charge it twice.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrNotOnStore is a variant that the store cannot keep.
	ErrNotOnStore = errors.New("not on this store")
	// ErrWrongType means that the Redis key holds something else than the algorithm keeps.
	// Nothing was changed.
	ErrWrongType = errors.New("wrong type")
	// ErrLimited is a request that was denied where a caller asked for an error.
	ErrLimited = errors.New("over the limit")
	// ErrQueueFull is a request that found no place in a Queue. It is an ErrLimited too.
	ErrQueueFull = errors.New("the queue is full")
	// ErrAway means that a Breaker did not ask its limiter, because the store behind it did not
	// answer a moment ago. Nothing was charged.
	ErrAway = errors.New("the store of the limiter is away")
)
