// Package feed is where readings come from. A Source looks at the keys of rate
// limiters and emits a model.Batch at every refresh; a Mailbox of size one stands
// between it and a screen, so that a slow screen costs freshness and never memory.
//
// Redis watches a server that others use, with read-only commands alone: a hook in
// its client refuses every command that is not on a list of reading ones, before it
// reaches the wire. Embedded runs a Redis of its own in process, with demo traffic
// through the real limiters, and watches it in the same way.
//
// An Injector is the one place that writes. It is made with its own client, only
// when it is armed, and every request that it fires is in the audit file before it
// is on the wire.
package feed
