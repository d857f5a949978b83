// Package limiter limits the rate of requests, in this process or on Redis, with seven
// algorithms that are one call apart:
//
//	l, err := limiter.NewRedis(client, limiter.SlidingLog)
//	d, err := l.AllowN(ctx, "user:42", limiter.Limit{Count: 100, Window: time.Minute}, 1)
//	if !d.Allowed { /* try again in d.RetryAfter */ }
//
// The limit is an argument of every request and not kept anywhere, so it can change at
// any time. What is kept belongs to a window of one length, though: for two of them on one
// key there is AllowAll. A Decision says more than yes or no: what is used and left, the
// smallest wait after which this very request would be admitted, when the key is as new, and
// the numbers that explain it.
//
// # Choosing an algorithm
//
//	algorithm        a window of L admits            keeps, a key    bytes at 10  100    1,000    commands  µs    × bare
//	return 1                                                                                      0         0.7   1.0
//	fixed-window     up to 2L across an edge         1 counter       72           72     72       2         3.5   2.4
//	sliding-log      exactly L                       L instants      280          2,104  119,248  4         7.6   4.2
//	sliding-window   about L, 2L at the very worst   2 counters      72           72     72       3         6.5   3.5
//	stream           exactly L                       a request each  4,736        4,736  32,288   5         18.4  8.6
//	stream of units  exactly L                       L units         4,736        4,736  28,192   5         13.3  5.6
//	gcra             L evenly, and the burst         1 instant       56           56     56       3         8.3   4.2
//	token-bucket     L as it refills, and the burst  1 pair          104          104    104      4         9.9   4.4
//	leaky-bucket     L as it drains, and the burst   1 pair          88           88     88       4         8.4   4.2
//
// The columns are: the bytes that a key takes on Redis after so many requests in a window;
// and what admitting a request costs the server, in commands inside the script, in time of
// the script, and in time of the server's thread beside that of a script that does nothing
// (Redis 7.0.15, 16 requests in a pipeline). It costs the same however full the window is.
// A stream of units is a Layout of the stream counter, for small limits.
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
// # Speed
//
// In this process, with one key and with ten thousand, from one goroutine and from two, and
// without an allocation, a decision takes of the time of
//
//	golang.org/x/time/rate, behind the map that its users write  0.6 to 1.1  token-bucket
//	throttled, with its store in memory                          0.5 to 0.7  gcra
//	ulule/limiter, with its store in memory                      0.3 to 0.4  fixed-window
//	RussellLuo/slidingwindow, behind a map                       0.5 to 0.8  sliding-window
//
// It is the most where two goroutines want the same key. The logs, which keep every request,
// take up to 1.2 times as long as x/time/rate. On one server, 50 goroutines that share a
// Gatherer are answered 2.7 times as often as through ulule (fixed-window), 1.6 times as
// through redis_rate and 2.4 times as through throttled (gcra); 500 goroutines 2.7 times as
// often and more. Without it they are answered 1.1 times as often, and from 500 goroutines
// 0.9 times as through ulule. "go test -run '^$' -bench . -benchtime 1x" in bench/ prints all
// of these tables anew.
//
// # Asking
//
// A Limiter, which Memory and Redis are, has AllowN, Peek, which never writes, and Reset.
// Both stores also give back with Refund, and decide with AllowAll about several limits on
// one key, as in 10 a second and 300 a minute, charging all or none. Redis decides about
// many keys in one round trip with AllowBatch. What becomes of a denied request is a
// Policy: Drop, Reject, Throttle, a Queue, or several with Or; Wait sleeps until it is
// admitted. WithBlock refuses a key that overran for a while, and WithDenials keeps count
// of what was denied. State has the same arithmetic without a store, for forecasts.
//
// # Time
//
// Redis decides on the server's clock, read in the script, in whole microseconds. Memory
// uses this machine's. A clock that jumps back frees nothing early: instants that were
// kept stay where they are until the clock returns to them. Counters on Redis notice a
// jump back into the window before; not further.
//
// # Redis
//
// One EVALSHA a decision, or EVALSHA_RO for a peek, so the server itself refuses a peek
// that would write. A server that does not know the script is sent the text, once. A
// decision whose answer does not come is not repeated, for it may have been counted: that
// is ErrUnknownOutcome. The commands ask go-redis not to repeat them either, whatever its
// MaxRetries says. All keys of a limiter are in one slot of a cluster, as far as the name
// allows it. The stream counter needs Redis 6.2, all else 6.0; peeks fall back to EVALSHA
// before 7.0.
//
// Any client of go-redis will do. On its plain pool every decision is a round trip of its
// own, and a pool of 50 connections makes more of them than one of 500. Gather lets those
// that are asked for at the same time share one, which from 50 goroutines or more makes two
// to three times as many decisions a second, at half the wait. The automatic pipeliner of
// go-redis does alike and is experimental there; it is tested here as the others are.
//
// A demotion, a restart or SCRIPT FLUSH takes nothing with it but what the server itself
// loses: the next decision brings the script again. Redirections of a cluster are followed.
//
// A limiter asks a server to keep a handful of scripts: one for each verb, and one for a
// request of cost 1 under each of a second, a minute, an hour and a day, and under any
// other window.
//
// # Errors
//
// ErrBadRequest (nothing was asked of the store), ErrWrongType (the key holds something
// else; nothing was changed), ErrNotOnStore, ErrUnknownOutcome, ErrLimited (where a policy
// turns a denial into an error). All else is what the client or the server said.
package limiter
