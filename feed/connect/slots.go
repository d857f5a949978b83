package connect

import (
	"fmt"
	"strconv"
	"strings"

	"ratescope/model"
)

// AllSlots is how many hash slots a Redis Cluster has.
const AllSlots = 16384

// Slots is a range of hash slots: a part of all names, the same for everyone who asks, on a
// server that is no cluster, too. The zero value is all of them.
type Slots struct {
	First, Past int // Past is not in the range
}

// ParseSlots reads a range of slots, as in 0-8191. The error is one sentence.
func ParseSlots(text string) (Slots, error) {
	first, last, ok := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if !ok || err != nil || err2 != nil || from > to || to >= AllSlots {
		return Slots{}, fmt.Errorf("%q is no range of hash slots: give two of 0 to %d, as in 0-8191", text, AllSlots-1)
	}
	return Slots{int(from), int(to) + 1}, nil
}

// ParseShard reads one of several equal parts of the slots, as in 1/4 for the first of four. The parts of
// one number cover every slot once. The error is one sentence.
func ParseShard(text string) (Slots, error) {
	part, parts, ok := strings.Cut(text, "/")
	n, err := strconv.ParseUint(part, 10, 16)
	of, err2 := strconv.ParseUint(parts, 10, 16)
	if !ok || err != nil || err2 != nil || n < 1 || n > of || of > AllSlots {
		return Slots{}, fmt.Errorf("%q is no part of several: give one as in 1/4, the first of four", text)
	}
	return Slots{int((n - 1) * AllSlots / of), int(n * AllSlots / of)}, nil
}

// All reports whether s is every slot.
func (s Slots) All() bool { return s == Slots{} || s == Slots{0, AllSlots} }

// Has reports whether the slot of a name is in s.
func (s Slots) Has(name string) bool {
	if s.All() {
		return true
	}
	slot := model.HashSlot(name)
	return slot >= s.First && slot < s.Past
}

// String writes s as ParseSlots reads it.
func (s Slots) String() string {
	if s.All() {
		return fmt.Sprintf("0-%d", AllSlots-1)
	}
	return fmt.Sprintf("%d-%d", s.First, s.Past-1)
}
