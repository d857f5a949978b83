package redisstore

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"ratescope/limiter"
)

// knownKeys remembers keys whose value was found to be a state of the algorithm. The check costs
// the server another command, about a tenth of a decision, so that the scripts for known keys leave
// it out. A key is checked again after 63 decisions, because another program may have replaced its
// value. The table is lossy: a key that another one has displaced is checked again. It is safe for
// concurrent use; a lost update only causes another check.
type knownKeys struct {
	seed  maphash.Seed
	slots [1 << 12]atomic.Uint64 // the hash of a key; its low bits count the decisions without a check
}

const trusted = 63 // decisions between two checks of a known key; one less than a power of two

func newKnownKeys() *knownKeys { return &knownKeys{seed: maphash.MakeSeed()} }

// hash returns the hash of a name, with the counting bits set. It includes the windows of several
// limits on one key, which have keys of their own on the server.
func (k *knownKeys) hash(name string, several []limiter.Limit) uint64 {
	h := maphash.String(k.seed, name)
	for _, l := range several {
		h = (h ^ uint64(l.Window/time.Microsecond)) * 0x9e3779b97f4a7c15
	}
	return h | trusted
}

func (k *knownKeys) slot(h uint64) *atomic.Uint64 { return &k.slots[h>>52] }

// trust reports whether the check may be left out for a name, and counts the decision. When a check
// is due, only one of several concurrent decisions makes it.
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

// learn notes that a decision about a name has found a state of the algorithm.
func (k *knownKeys) learn(name string, several []limiter.Limit) {
	if k == nil {
		return
	}
	h := k.hash(name, several)
	if k.slot(h).Load()|trusted != h {
		k.slot(h).Store(h &^ trusted)
	}
}

// forget makes the next decision about a name check its value.
func (k *knownKeys) forget(name string, several []limiter.Limit) {
	if k == nil {
		return
	}
	h := k.hash(name, several)
	if k.slot(h).Load()|trusted == h {
		k.slot(h).Store(0)
	}
}
