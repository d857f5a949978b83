// Package lab is the engine of the teaching screens: one stream of arrivals decided by
// several algorithms side by side, on a clock that runs in either direction.
//
// A Run is a pure function of its Setup, its arrivals and a moment. It keeps checkpoints
// on the way and replays from the nearest one, so the state at any moment is exact and
// stepping back costs no more than stepping on. Nothing here does I/O, starts a
// goroutine or reads a clock. Nothing here is safe for concurrent use either: a Run
// belongs to the one who drives it.
package lab
