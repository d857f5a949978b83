package form

import "ratescope/limiter"

// FewPermits is how many members of a sorted set are read from either end: the oldest of them
// tell the next that leaves, and the total is counted.
const FewPermits = 128

// Permits gathers a log from the oldest entries of one that may be too long to be read whole.
type Permits struct {
	Left    int64 // units that were not gathered yet, of a total that is known
	entries []limiter.Entry
}

// Add appends n units at an instant, as far as the total goes. Entries come oldest first.
func (p *Permits) Add(at limiter.Instant, n int64) {
	if n = min(n, p.Left); n <= 0 {
		return
	}
	p.Left -= n
	if k := len(p.entries); k > 0 && p.entries[k-1].At >= at {
		p.entries[k-1].Count += n
		return
	}
	p.entries = append(p.entries, limiter.Entry{At: at, Count: n})
}

// Log returns the entries. What is beyond those that were read leaves with the newest of them at
// the earliest, and is put there, or at now where none was read.
func (p *Permits) Log(now limiter.Instant) []limiter.Entry {
	at := now
	if k := len(p.entries); k > 0 {
		at = p.entries[k-1].At
	}
	p.Add(at, p.Left)
	if p.entries == nil {
		return []limiter.Entry{}
	}
	return p.entries
}
