package alert

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// forgotten finds limits whose keys left the server although what was counted in them had
// not expired: after a restart without its data, a failover to an empty replica or a flush.
type forgotten struct {
	names map[string]bool // of keys that left so
	total int             // limits that counted something when the first of them left
	begun limiter.Instant // when the first of them left; 0 none did
}

const (
	forgottenFor = time.Minute      // an alert about them lasts: they are an event, not a state
	lifeLeft     = 2 * time.Second  // a key that would have expired sooner is not counted
	forgottenIn  = 10 * time.Second // keys that leave within this time left together
)

// see looks at a batch before the board takes it in.
func (f *forgotten) see(b *model.Board, batch *model.Batch) {
	for _, name := range batch.Gone {
		f.left(b, name, batch.At)
	}
	for i := range batch.Readings {
		if r := &batch.Readings[i]; r.Type == missing && r.Err == "" {
			f.left(b, r.Key, batch.At)
		}
	}
}

// missing is the type of a key that does not exist.
const missing = "none"

// left counts a key that is not there any more.
func (f *forgotten) left(b *model.Board, name string, at limiter.Instant) {
	if k := b.Key(name); k == nil || !counts(k, at) {
		return
	}
	if f.begun == 0 || at.Sub(f.begun) > forgottenIn {
		f.begun, f.total, f.names = at, 0, map[string]bool{}
		for _, k := range b.Keys() {
			if counts(k, at) {
				f.total++
			}
		}
	}
	f.names[name] = true
}

// counts reports whether a key, by what was last read of it, is still there at an instant
// and holds something that counts.
func counts(k *model.Watched, at limiter.Instant) bool {
	r := &k.Reading
	if k.Gone || r.Type == missing || r.Err != "" {
		return false
	}
	if left := r.TTL - at.Sub(r.At); r.TTL != model.Forever && left < lifeLeft {
		return false
	}
	used := r.Gauge(at).Used
	return !used.Known || used.N > 0
}

// within returns how many limits were forgotten lately, and how many there were. Fewer
// than half are none: their owner deleted them.
func (f *forgotten) within(now limiter.Instant) (n, total int) {
	if n = len(f.names); 2*n < f.total || now.Sub(f.begun) > forgottenFor {
		return 0, f.total
	}
	return n, f.total
}
