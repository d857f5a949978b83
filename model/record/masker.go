package record

import (
	"slices"

	"ratescope/model"
)

// Masker hides the middle of the names of keys, by the same names in every batch, for streams
// of which each begins with a Writer of its own. Make one with NewMasker. Not safe for
// concurrent use.
type Masker struct{ mask *mask }

// NewMasker returns a Masker that has seen no key.
func NewMasker() *Masker { return &Masker{newMask()} }

// Batch returns a copy of b that names no key in full, and b itself where m is nil.
func (m *Masker) Batch(b model.Batch) model.Batch {
	if m == nil {
		return b
	}
	return m.mask.batch(b)
}

// Patterns returns patterns of keys with what they say of names hidden.
func (m *Masker) Patterns(list []string) []string { return m.mask.patterns(slices.Clone(list)) }

// Keys returns of how many keys it remembers the names.
func (m *Masker) Keys() int { return len(m.mask.names) }
