package model

import "slices"

// faults are the notes of a key that does not work as its limiter is meant to.
var faults = [...]Note{WrongType, NoExpiry, FutureScore, GarbageScore, NoCountField, MixedUnits}

// Fault returns what is wrong with a key: why it cannot be read, or which of its notes says
// that it does not work as its limiter is meant to; "" where nothing is.
func (r *Reading) Fault() string {
	if r.Err != "" {
		return r.Err
	}
	for _, n := range faults {
		if slices.Contains(r.Notes, n) {
			return string(n)
		}
	}
	return ""
}
