// Package feed is where readings come from. A Source looks at the keys of rate
// limiters and emits a model.Batch at every refresh; a Mailbox of size one stands
// between it and a screen, so that a slow screen costs freshness and never memory.
//
// NewRedis watches a server that others use, with read-only commands alone. NewEmbedded
// runs a Redis of its own in process, with demo traffic through the real limiters, and
// watches it in the same way.
//
// This package is the front; the work is done in the rooms behind it, each of which
// imports only those above it:
//
//	connect    the way to a server: URLs, TLS, guarded clients, errors in words
//	pace       waits and backoff
//	rules      how keys are limited: the file of rules and its globs
//	shape      what the data of limiters looks like, and decoding it
//	look       following one limiter from reading to reading
//	discover   finding keys with SCAN
//	condition  how the server itself does
//	observe    rounds of reading inside a budget, and the batches they make
//	inject     firing requests, the one place that writes
//	demo       the embedded Redis and its traffic
package feed
