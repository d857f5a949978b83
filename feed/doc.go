// Package feed is where readings come from. A Source looks at the keys of rate
// limiters and emits a model.Batch at every refresh; a Mailbox of size one stands
// between it and a screen, so that a slow screen costs freshness and never memory.
//
// # Watching
//
// Redis watches a server that others use, with read-only commands alone: a hook in
// its client refuses every command that is not on a list of reading ones, before it
// reaches the wire. Embedded runs a Redis of its own in process, with demo traffic
// through the real limiters, and watches it in the same way.
//
// Four goroutines share the work of a running source. One emits: it orders a round of
// reading at every refresh and reports also when no answer comes, so that a server that
// hangs never stops the screen. One reads. One discovers keys, with SCAN inside a budget.
// One listens for news of the streams on screen. All but the first wait on the network,
// and none outlives Run.
//
// Every limiter that was found is followed by a look, whose body knows one way of keeping
// state: a sorted set of instants, a stream of counts, a counter a window, one value. A
// look asks for what is new since the look before, and for a count of what it knows
// already, to notice what was removed or came late. A key that is too hot to be fetched
// is counted per bin of time, which costs the same however busy it is. What is remembered
// of two windows outlives what the server trims, and is bounded.
//
// Rounds are paid from a purse that holds a share of the server's time; keys on screen
// are read first, then those near their limit or busy, and quiet ones less often.
//
// # Firing
//
// An Injector is the one place that writes. It has a client of its own, made only when it
// is armed; it checks the caps, asks the limiter, never sends a request twice, and writes
// a line for every request to an audit file without which it does not fire.
package feed
