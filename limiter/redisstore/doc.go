// Package redisstore limits the rate of requests on Redis, for all processes that share a
// server: one script call a decision, on the server's own clock.
//
//	s, err := redisstore.New(client, limiter.SlidingLog)
//	d, err := s.AllowN(ctx, "user:42", limiter.Limit{Count: 100, Window: time.Minute}, 1)
//
// It decides as limiter.Memory does; both are limiter.Limiters. Any client of go-redis will
// do: single, sentinel, cluster or ring.
//
// # Keys
//
// Names begin with DefaultPrefix, or with what WithPrefix says. A key that holds no state of
// the algorithm is left as it is, and the error is limiter.ErrWrongType. All keys of a
// limiter are in one slot of a cluster, as far as the name allows it.
//
// # Calls
//
// A decision is one EVALSHA, and a peek one EVALSHA_RO, so that the server itself refuses a
// peek that would write. Decisions that are asked for at the same time share a round trip:
// see WithBatches. A server that does not know a script, after a restart, a failover or
// SCRIPT FLUSH, is sent its text, once. A decision whose answer does not come is not
// repeated, for it may have been counted: that is limiter.ErrUnknownOutcome, and go-redis is
// told not to repeat it either, whatever its MaxRetries says.
//
// A server keeps a handful of scripts of each limiter: one for each verb, and one for a cost
// of 1 under each of a second, a minute, an hour and a day, and under any other window. The
// stream counter needs Redis 6.2, all else 6.0; peeks fall back to EVALSHA before 7.0.
package redisstore
