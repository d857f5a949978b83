// Package collect has what packages slices, maps, cmp and regexp lack.
package collect

import (
	"cmp"
	"regexp"
	"sync"
)

// Map returns what f makes of each element of a list; nil of an empty one.
func Map[T, U any](list []T, f func(T) U) (all []U) {
	if len(list) > 0 {
		all = make([]U, len(list))
	}
	for i, v := range list {
		all[i] = f(v)
	}
	return all
}

// Only returns the elements of a list that a condition holds of; nil where there is none.
func Only[T any](list []T, holds func(T) bool) (some []T) {
	for _, v := range list {
		if holds(v) {
			some = append(some, v)
		}
	}
	return some
}

// Sum returns the sum of what f makes of each element of a list.
func Sum[T any, N cmp.Ordered](list []T, f func(T) N) (sum N) {
	for _, v := range list {
		sum += f(v)
	}
	return sum
}

// Most returns the greatest that f makes of an element of a list, at least 0.
func Most[T any, N cmp.Ordered](list []T, f func(T) N) (most N) {
	for _, v := range list {
		most = max(most, f(v))
	}
	return most
}

// Set returns a map that has each element of a list as a key.
func Set[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

// Put sets the value of a key, in a map that is made where it is nil.
func Put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}

// Entry returns the value of a key, which is new where there is none. A nil map is made.
func Entry[K comparable, V any](m *map[K]*V, k K) *V {
	v := (*m)[k]
	if v == nil {
		v = new(V)
		Put(m, k, v)
	}
	return v
}

// Known returns v where it is known, and else nil, which JSON has as null.
func Known[T any](known bool, v T) *T {
	if !known {
		return nil
	}
	return new(v)
}

// If returns one of two values.
func If[T any](holds bool, yes, no T) T {
	if holds {
		return yes
	}
	return no
}

// Regexp returns a function that compiles a regular expression at its first call: all of them at the start of the program
// would delay its first frame by some milliseconds. It panics then if the expression cannot be compiled.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
