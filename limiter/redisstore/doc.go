// Package redisstore limits the rate of requests with Redis, for all processes that share a
// server. Each decision is one call of a script, on the server's own clock.
//
//	s, err := redisstore.New(client, limiter.SlidingLog)
//	d, err := s.AllowN(ctx, "user:42", limiter.Limit{Count: 100, Window: time.Minute}, 1)
//
// Its decisions are the same as those of limiter.Memory; both implement limiter.Limiter. Any
// client of go-redis can be used: single, sentinel, cluster or ring. One difference is that a fixed window notices that the
// server's clock was set back only where the counter of the window to which it went back is gone: else that one counts on.
//
// # Keys
//
// The names of keys begin with DefaultPrefix, or with the prefix of WithPrefix. A key that holds
// anything else than a state of the algorithm is not changed, and the error is
// limiter.ErrWrongType. All keys of a limiter are in one slot of a cluster, as far as its name
// allows.
//
// # Calls
//
// A decision is one EVALSHA, and a peek one EVALSHA_RO, so that the server itself refuses a peek that would write.
// Concurrent decisions share a round trip; see WithBatches. If a server does not know a script, after a restart, a
// failover or SCRIPT FLUSH, its text is sent once. A decision without an answer is not repeated, because it may have
// been counted: the error is limiter.ErrUnknownOutcome. go-redis does not repeat it either, whatever its MaxRetries is.
//
// On one server up to 16 concurrent decisions that cost 1 under one limit are one EVALSHA, in which
// each has an answer or an error of its own. The server answers no other client meanwhile: for 0.05 to 0.2 ms, with the
// stream counter for 0.6 and for 0.8 where a sliding log removes what has expired; never for longer than 16 decisions
// take. After the first of these, the second, the fourth and so on, anew after a script was not known, and after each of
// 1,024, INFO and 65 scripts tell whether one server has all keys (0.7 ms of it), half of them with keys that were asked
// about. Behind a proxy that spreads keys, in a cluster, and without the right to INFO each decision is a call. Until such a
// proxy is noticed each of its servers may admit a limit: where it takes the place of a server in use and its servers know
// the scripts, or routes by the beginnings of names and answers INFO as one of them. WithBatches(0) excludes both.
//
// A server keeps a handful of scripts for each limiter: one for each kind of call, and two for requests of cost 1 for
// each of the windows of a second, a minute, an hour and a day and for all other windows. The stream counter needs
// Redis 6.2, all other algorithms 6.0. Before 7.0, peeks use EVALSHA. The tests have run on Redis 7.0.15 and 7.4.1 and on
// Valkey 8.0.1, and on Redis 6.2.16 all but four, which ask it for commands of 7.0.
package redisstore
