// Package model holds the state of the watched keys: plain values, and the reducers that update
// them. It does no I/O, starts no goroutine and reads no clock; all instants are arguments, by
// the server's clock unless their comment says otherwise.
//
// A source emits Batches of Readings. A Board applies them and keeps the latest Reading of every
// key and a Timeline of its past. Pure functions (Gauge, Forecast) derive the numbers on the
// screens from these at an explicit instant, so that they move between two readings as they do
// on the server.
package model
