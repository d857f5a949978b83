// Package hotkeys finds the hottest keys of a server that has too many of them to read: which
// are used most, out of a million perhaps, in memory that does not grow with their number
// and for a share of the server's time that is known before.
//
// # The sketch
//
// A Sketch holds the heavy hitters of a stream of keys by the Space-Saving algorithm
// (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in
// data streams, ICDT 2005). It counts at most its capacity m of keys and says of each
// count by how much it may be too high. With N the weight of all that was added:
//
//	count - err <= true count <= count,  err <= N/m,
//	and every key whose true count is above N/m is held.
//
// Counts fade by half every half-life, by forward decay (Cormode, Shkapenyuk, Srivastava,
// Xu: Forward decay, ICDE 2009), so that what was hot an hour ago does not stand in the
// way of what is hot now; the bounds hold for the faded counts and the faded N alike.
// Divided by the Span of the fading window, a count is a rate.
//
// # Where it hears of keys
//
// A Sampler listens to the writes of a server for moments: a connection asks for
// invalidation messages (CLIENT TRACKING ON BCAST, Redis 6 and later, Valkey), which the
// server then sends for every key that is written, and takes that back a few milliseconds
// later. It needs no setting of the server, no key and no script, and costs only while it
// listens; how long that is follows from what the events cost and from the budget. A key
// written twice in one turn of the server's event loop is told once, and a request that
// changes nothing, as most denied ones, is not told, so that what is counted is a lower
// bound of the requests: it ranks keys to be looked at and is never shown as a count.
//
// # What servers keep themselves
//
// Redis 8.6 and Valkey after 9.1 both have a command HOTKEYS, and not the same. Redis
// profiles for a while after HOTKEYS START and reports microseconds and bytes a key;
// START changes the state of the server, so that it is not this package which sends it.
// Valkey samples all the time when hotkey-top-k is set, has no START, and reports requests
// a second. A Register tells the two apart by the subcommands that COMMAND INFO lists,
// never by version, and reads the reply of either. Under an LFU maxmemory-policy, OBJECT
// FREQ tells the logarithmic counter of a key, which Hits turns into a number of accesses.
//
// Verified how: Redis 8.6.3's HOTKEYS and OBJECT FREQ against servers that the tests start
// when RATESCOPE_REDIS_SERVER names one that has them, and against replies recorded from
// such servers always; Valkey's HOTKEYS, which no released server of the tests has yet,
// against replies written after its source.
package hotkeys
