// Package limiter limits the rate of requests, in this process or on Redis, with seven
// algorithms that are one call apart:
//
//	l, err := limiter.NewMemory(limiter.SlidingLog)
//	d, err := l.AllowN(ctx, "user:42", limiter.Limit{Count: 100, Window: time.Minute}, 1)
//	if !d.Allowed { /* try again in d.RetryAfter */ }
//
// What a service needs:
//
//	NewMemory, redisstore.New        a Limiter, in this process or on Redis
//	AllowN, Peek, Reset, Refund      what it does; Allow is AllowN of 1
//	Limit, ParseLimit, KeyLimit      what is admitted in how long a window, on which key
//	AllowKeys, OnKey, Combine        several limits, on one key or many, charged all or none
//	Decision, LimitedError, Never    the answer, with a wait after which it would be another
//	Wait, Apply, Policy, NewQueue    what becomes of a denied request: Drop, Reject, Throttle, Or
//	NewBreaker, Observe              when the store is away; metrics
//	WithMaxKeys, WithBlock           and the errors from ErrBadRequest to ErrAway
//
// State, Entry and Reply are for authors of stores and for those who look into them; package describe
// holds what a screen needs.
//
// The limit is an argument of every request and not kept anywhere, so it can change at
// any time. What is kept belongs to a window of one length, though. docs/settings.md says which
// settings fit which service.
//
// # Choosing an algorithm
//
//	algorithm       how it fails
//	fixed-window    lets a second limit through where two windows meet
//	sliding-log     takes memory in proportion to the limit
//	sliding-window  is wrong by as much as the traffic was uneven, in both directions
//	stream          takes memory in proportion to the requests, and the most time
//	gcra            denies some that a window has room for; counts nothing under a limit of 0
//	token-bucket    as GCRA; with interval refill it admits a burst at each step
//	leaky-bucket    as GCRA
//
// A limit of 0 counts and denies nothing; those that spread requests have no count to keep.
//
// Where published implementations differ (whether an entry exactly one window old
// counts, how windows are aligned, how the weighted count is rounded, whether denied
// requests are charged) a Convention picks; its zero value is the default.
//
// # Time
//
// Redis decides on the server's clock, read in the script, in whole microseconds. Memory
// uses this machine's. A clock that jumps back frees nothing early: instants that were
// kept stay where they are until the clock returns to them. Counters on Redis notice a
// jump back into the window before; not further.
//
// WithClock gives a test a clock of its own. In a bubble of testing/synctest none is needed:
// a Memory's clock is the bubble's, and an hour of waiting passes at once.
//
//	synctest.Test(t, func(t *testing.T) {
//		l, _ := limiter.NewMemory(limiter.SlidingLog)
//		hourly := limiter.Limit{Count: 1, Window: time.Hour}
//		for range 3 { // two hours of the bubble
//			_, err := limiter.Wait(t.Context(), l, "user:42", hourly, 1)
//		}
//	})
//
// # When the store is away
//
// A Breaker bounds how long a call takes, stops asking a store that does not answer, asks it
// again now and then, and lets a fallback decide meanwhile; httplimit has one inside. Observe
// reports every call to a function, for metrics. WithMaxKeys bounds a Memory.
//
// # Errors
//
// ErrBadRequest (nothing was asked of the store), ErrWrongType (the key holds something
// else; nothing was changed), ErrNotOnStore, ErrUnknownOutcome, ErrLimited (where a policy
// turns a denial into an error), ErrAway (a Breaker did not ask). All else is what the client or the server said.
package limiter
