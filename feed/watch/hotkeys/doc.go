// Package hotkeys finds the hottest keys of a server that has too many keys to read them all:
// the most used ones out of a million, in bounded memory and within a fixed share of the
// server's time.
//
// # The sketch
//
// A Sketch holds the heavy hitters of a stream of keys by the Space-Saving algorithm
// (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in
// data streams, ICDT 2005). It counts at most m keys, its capacity, and gives for each count
// the error by which it may be too high. With N, the total weight added:
//
//	count - err <= true count <= count,  err <= N/m,
//	and every key whose true count is above N/m is held.
//
// Counts fade by half every half-life, by forward decay (Cormode, Shkapenyuk, Srivastava,
// Xu: Forward decay, ICDE 2009), so that keys that were hot an hour ago do not hide keys that
// are hot now. The bounds hold for faded counts and a faded N. Divided by the Span of the
// fading window, a count is a rate.
//
// # Sampling writes
//
// A Sampler listens to the writes of a server for a few milliseconds at a time. It turns on
// invalidation messages for its connection (CLIENT TRACKING ON BCAST, Redis 6 and later,
// Valkey), which the server then sends for every key that is written, and turns them off
// again. It needs no setting of the server, no key and no script, and costs only while it
// listens; the budget and the cost of a message determine for how long it listens. A key that
// is written twice in one turn of the server's event loop is reported once, and a request that
// changes nothing, like most denied ones, is not reported. The counts are therefore a lower
// bound of the requests: they rank keys to be examined and are never shown as counts.
//
// # Statistics of the server
//
// Redis 8.6 profiles for a while after HOTKEYS START and reports microseconds and bytes of each key. START
// changes the state of the server, so that this package never sends it. An Index tells the command from the
// one of the same name in Valkey by the subcommands that COMMAND INFO lists, never by version.
// Under an LFU maxmemory-policy, OBJECT FREQ returns the logarithmic
// counter of a key, which stands for a number of accesses.
//
// The tests check HOTKEYS and OBJECT FREQ of Redis 8.6.3 against replies recorded from such a
// server, and against a real one if RATESCOPE_REDIS_SERVER names it.
package hotkeys
