// Package model is what is known about the watched keys: plain values and the
// reducers that bring them forward. It does no I/O, starts no goroutine and reads
// no clock; every instant is on the server's clock and comes in from outside.
//
// A source emits Batches of Readings. A Board applies them and keeps, for every
// key, the latest Reading and a Timeline of what happened. What the screens show is
// derived from these by pure functions (Gauge, Forecast) at an explicit instant, so
// that numbers move between two readings as they do on the server.
package model
