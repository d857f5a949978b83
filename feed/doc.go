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
//	panics     the panic of a goroutine as an error
//	pace       waits and backoff
//	cost       what commands cost a server
//	connect    the way to a server: URLs, TLS, sentinels, the nodes that are read, guarded
//	           clients, errors as sentences
//	rules      how keys are limited: rules and their globs
//	config     the configuration file: rules, targets, alerts
//	notify     delivering alerts to webhooks and commands
//	decode     what the data of limiters looks like, and decoding it
//	track      following one limiter from reading to reading
//	discover   finding keys with SCAN
//	hotkeys    finding the hottest of very many keys
//	health     how the server itself does
//	watch      rounds of reading inside a budget, and the batches they make
//	fire       firing requests, the one place that writes
//	demo       the embedded Redis and its traffic
//
// Beside them are the commands without a screen, which use the packages above: cli (flags, and
// snapshot, peek, fire, verify, record), replay and metrics. file opens what a person names.
//
// The tests start servers of their own with servertest, and hold every Source to feedtest.
package feed
