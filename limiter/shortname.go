package limiter

import (
	"hash/maphash"
	"math/bits"
)

// shortName is a key in three words, which tell keys of up to sixteen bytes apart by themselves.
type shortName struct {
	tag        uint64 // the hash, and in place of its lowest bits the length
	head, tail uint64 // the first eight bytes and the last eight, which may overlap; all of a shorter key is in tail
}

const (
	shortKey = 16 // bytes; an IPv4 address has 15
	lenBits  = 6  // of a tag; a hash has as many more, by which a shard is chosen
	lenMask  = 1<<lenBits - 1
)

// long says that a name does not tell all of its key.
func (n shortName) long() bool { return n.tag&lenMask > shortKey+1 }

// hashSecret seeds the hash of keys: a client that knew it could choose keys that collide.
type hashSecret struct {
	seed        maphash.Seed
	first, last uint64
	length      uint64
}

func newHashSecret() hashSecret {
	s := hashSecret{seed: maphash.MakeSeed()}
	s.first, s.last, s.length = maphash.String(s.seed, "first"), maphash.String(s.seed, "last"), maphash.String(s.seed, "length")
	return s
}

// nameKey gives q the key and its name, and returns the hash. Short keys are hashed as wyhash
// does, with two products: both words are at hand, and a call to a hash function takes as
// long as the rest of the search. A tag is never zero, for it holds the length plus one.
func (s *hashSecret) nameKey(q *request, key string) (hash uint64) {
	size := uint64(len(key))
	q.key = key
	switch {
	case size >= 8:
		q.name.head, q.name.tail = load64(key), load64(key[size-8:])
	default:
		for i := range len(key) {
			q.name.tail = q.name.tail<<8 | uint64(key[i])
		}
	}
	if size > shortKey {
		hash, size = maphash.String(s.seed, key), shortKey+1
	} else {
		hash = fold(fold(q.name.head^s.first, q.name.tail^s.last)^s.length, size^s.first)
	}
	q.name.tag = hash&^lenMask | (size + 1)
	return hash
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// load64 reads eight bytes.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
