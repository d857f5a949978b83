package model

import "slices"

// faults are the notes on a key whose limiter does not work as intended.
var faults = [...]Note{WrongType, NoExpiry, FutureScore, GarbageScore, NoCountField, MixedUnits}

// Fault returns why the key cannot be read or, if it can, the note that says why its limiter does not
// work as intended; "" if there is no fault.
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
