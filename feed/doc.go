// Package feed is where readings come from. A Source looks at the keys of rate
// limiters and emits a model.Batch at every refresh; a Mailbox of size one stands
// between it and a screen, so that a slow screen costs freshness and never memory.
//
// NewRedis watches a server that others use, with read-only commands alone. NewEmbedded
// runs a Redis of its own in process, with demo traffic through the real limiters, and
// watches it in the same way.
//
// The packages beneath it, each of which imports only those above it in this list:
//
//	connect    clients of a server: URLs, TLS, sentinels, nodes, the guard against writing
//	           commands, errors as sentences
//	decode     telling limiters from other keys and decoding their values; library holds one
//	           layout a file
//	config     rules that say how keys are limited, targets, alerts, and their YAML file
//	track      following one limiter from reading to reading; infer tells limits from what was
//	           watched
//	watch      rounds of reading inside a budget, and the batches they make; beneath it what it
//	           alone uses: discover (SCAN), cost, health and hotkeys
//	fire       firing requests, the one place that writes; foreign knows what other libraries write
//	demo       the embedded Redis and its traffic
//
// Beside them, replay plays a recording, relay streams what an exporter watches, metrics is the
// Prometheus endpoint, notify delivers alerts, and script reads how a user's own script is called.
//
// The tests start servers of their own with servertest. They run sources with feedtest, which also holds
// every Source to what it promises.
package feed
