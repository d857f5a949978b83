package redisstore

import (
	"hash/maphash"
	"sync/atomic"
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

// hash returns the hash of what a call is about, with the counting bits set. The states of several
// limits have keys of their own on the server.
func (k *knownKeys) hash(about subject) uint64 {
	if len(about.states) == 0 {
		return maphash.String(k.seed, about.key) | trusted
	}
	h := uint64(0)
	for _, name := range about.states {
		h = (h ^ maphash.String(k.seed, name)) * 0x9e3779b97f4a7c15
	}
	return h | trusted
}

func (k *knownKeys) slot(h uint64) *atomic.Uint64 { return &k.slots[h>>52] }

// trust reports whether the check may be left out, and counts the decision. When a check
// is due, only one of several concurrent decisions makes it.
func (k *knownKeys) trust(about subject) bool {
	if k == nil {
		return true
	}
	h := k.hash(about)
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

// learn notes that a decision has found states of the algorithm.
func (k *knownKeys) learn(about subject) {
	if k == nil {
		return
	}
	h := k.hash(about)
	if k.slot(h).Load()|trusted != h {
		k.slot(h).Store(h &^ trusted)
	}
}

// forget makes the next decision check the value.
func (k *knownKeys) forget(about subject) {
	if k == nil {
		return
	}
	h := k.hash(about)
	if k.slot(h).Load()|trusted == h {
		k.slot(h).Store(0)
	}
}
