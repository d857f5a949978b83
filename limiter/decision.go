package limiter

import (
	"math"
	"time"
)

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
