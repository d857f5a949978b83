package lab

import (
	"slices"

	"ratescope/limiter"
)

// ring holds what was admitted within one window. The zero ring is empty.
type ring struct {
	entries []limiter.Entry // none older than a window
	sum     int64
}

// count drops what is older than w microseconds at an instant and returns how much is in
// (at-w, at], and how much is exactly w old, which a closed window holds too.
func (r *ring) count(at limiter.Instant, w int64) (inside, edge int64) {
	gone := 0
	for gone < len(r.entries) && int64(at-r.entries[gone].At) > w {
		r.sum -= r.entries[gone].Count
		gone++
	}
	r.entries = r.entries[gone:]
	for _, e := range r.entries {
		if int64(at-e.At) != w {
			break
		}
		edge += e.Count
	}
	return r.sum - edge, edge
}

// add appends n units and returns how much is in (at-w, at] then, and when the first of
// it was admitted.
func (r *ring) add(at limiter.Instant, n, w int64) (inside int64, first limiter.Instant) {
	inside, _ = r.count(at, w)
	r.entries = append(r.entries, limiter.Entry{At: at, Count: n})
	r.sum += n
	for _, e := range r.entries {
		if first = e.At; int64(at-e.At) != w {
			break
		}
	}
	return inside + n, first
}

func (r *ring) clone() ring { return ring{entries: slices.Clone(r.entries), sum: r.sum} }
