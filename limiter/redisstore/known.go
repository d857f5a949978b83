package redisstore

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"ratescope/limiter"
)

// knownKeys remembers names whose value was found to be a state of the algorithm. To find
// that out costs the server another command, about a tenth of a decision, so the scripts for
// known names leave it out. A name is looked at again after every 63 decisions, because another
// program may have replaced its value since. The table is lossy: a name that another one
// pushed out is only looked at again. It may be used by many goroutines; updates that are lost
// between two of them do no harm.
type knownKeys struct {
	seed  maphash.Seed
	slots [1 << 12]atomic.Uint64 // a hash, and in its low bits how often it was trusted
}

const trusted = 63 // decisions between two looks at a known key; one less than a power of two

func newKnownKeys() *knownKeys { return &knownKeys{seed: maphash.MakeSeed()} }

// hash is the name's, without the bits that count. Several limits on one key have names of
// their own on the server, so their windows are part of it.
func (k *knownKeys) hash(name string, several []limiter.Limit) uint64 {
	h := maphash.String(k.seed, name)
	for _, l := range several {
		h = (h ^ uint64(l.Window/time.Microsecond)) * 0x9e3779b97f4a7c15
	}
	return h | trusted
}

func (k *knownKeys) slot(h uint64) *atomic.Uint64 { return &k.slots[h>>52] }

// trust reports whether a name is known, and counts that it was trusted. Of many decisions
// at the same time one looks again and the others go on.
func (k *knownKeys) trust(name string, several []limiter.Limit) bool {
	if k == nil {
		return true
	}
	h := k.hash(name, several)
	v := k.slot(h).Load()
	switch {
	case v|trusted != h:
		return false
	case v == h:
		return !k.slot(h).CompareAndSwap(v, h&^trusted)
	}
	k.slot(h).Store(v + 1)
	return true
}

// learn notes that a decision about the name found nothing foreign.
func (k *knownKeys) learn(name string, several []limiter.Limit) {
	if k == nil {
		return
	}
	h := k.hash(name, several)
	if k.slot(h).Load()|trusted != h {
		k.slot(h).Store(h &^ trusted)
	}
}

// forget makes the next decision about a name look closely.
func (k *knownKeys) forget(name string, several []limiter.Limit) {
	if k == nil {
		return
	}
	h := k.hash(name, several)
	if k.slot(h).Load()|trusted == h {
		k.slot(h).Store(0)
	}
}
