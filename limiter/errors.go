package limiter

import "errors"

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

func isUnknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }
