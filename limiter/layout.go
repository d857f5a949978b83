package limiter

import "time"

// Layout says how a key's data is written where it is not this library's own way,
// so that a request fired at a key that another program keeps looks like that
// program's own. The zero Layout is this library's.
type Layout struct {
	// Unit is that of ZSET scores, and of the window start in counter names: time.Second,
	// time.Millisecond or time.Microsecond. 0 is the library's own.
	Unit time.Duration
	// Suffixed counters are named key:<window start in Unit> instead of {key}:fw:<ms>.
	Suffixed bool
	// Untotalled streams hold entries with a field count but no running total.
	Untotalled bool
}
