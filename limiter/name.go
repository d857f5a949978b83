package limiter

import (
	"hash/maphash"
	"math/bits"
)

// name is a key in three words, which tell keys of up to sixteen bytes apart by themselves.
type name struct {
	tag        uint64 // the hash, and in place of its lowest bits the length
	head, tail uint64 // the first eight bytes and the last eight, which may overlap; all of a shorter key is in tail
}

const (
	shortKey = 16 // bytes; an IPv4 address has 15
	lenBits  = 6  // of a tag; a hash has as many more, by which a shard is chosen
	lenMask  = 1<<lenBits - 1
)

// long says that a name does not tell all of its key.
func (n name) long() bool { return n.tag&lenMask > shortKey+1 }

// secret is what nobody who chooses keys may know, or they would choose some that collide.
type secret struct {
	seed        maphash.Seed
	first, last uint64
	length      uint64
}

func newSecret() secret {
	s := secret{seed: maphash.MakeSeed()}
	s.first, s.last, s.length = maphash.String(s.seed, "first"), maphash.String(s.seed, "last"), maphash.String(s.seed, "length")
	return s
}

// name gives a the key and its name, and returns the hash. Short keys are hashed as wyhash
// does, with two products: both words are at hand, and a call to a hash function takes as
// long as the rest of the search. A tag is never zero, for it holds the length plus one.
func (s *secret) name(a *asked, key string) (hash uint64) {
	size := uint64(len(key))
	a.key = key
	switch {
	case size >= 8:
		a.name.head, a.name.tail = word(key), word(key[size-8:])
	default:
		for i := range len(key) {
			a.name.tail = a.name.tail<<8 | uint64(key[i])
		}
	}
	if size > shortKey {
		hash, size = maphash.String(s.seed, key), shortKey+1
	} else {
		hash = fold(fold(a.name.head^s.first, a.name.tail^s.last)^s.length, size^s.first)
	}
	a.name.tag = hash&^lenMask | (size + 1)
	return hash
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// word reads eight bytes.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
