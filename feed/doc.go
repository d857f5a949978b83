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
//	pace       waits and backoff
//	cost       what commands cost the server
//	notify     delivering alerts to webhooks and commands
//	track      following one limiter from reading to reading
//	discover   finding keys with SCAN
//	hotkeys    finding the hottest of very many keys
//	health     how the server does
//	watch      rounds of reading inside a budget, and the batches they make
//	fire       firing requests, the one place that writes
//	demo       the embedded Redis and its traffic
//
// Beside them, replay plays a recording, metrics is the Prometheus endpoint, and cli holds the
// flags and the commands without a screen.
//
// The tests start servers of their own with servertest, and hold every Source to feedtest.
package feed
