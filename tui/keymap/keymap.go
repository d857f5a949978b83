// Package keymap is a table of keys: the one place that dispatch, the help on screen and
// the README's list read.
package keymap

import "strings"

// Binding ties keys to an action of type A.
type Binding[A comparable] struct {
	Keys  []string // as tea.KeyPressMsg.String says them
	Shown string   // as a person reads them
	Act   A
	What  string // completes "this key …"
	Group string
}

// Bind makes a binding.
func Bind[A comparable](act A, group, shown, what string, keys ...string) Binding[A] {
	return Binding[A]{Keys: keys, Shown: shown, Act: act, What: what, Group: group}
}

// Table is the keys of a screen in the order in which they are listed.
type Table[A comparable] []Binding[A]

// Actions returns what each key does; keys that do nothing are not in it.
func (t Table[A]) Actions() map[string]A {
	m := make(map[string]A)
	for _, b := range t {
		for _, k := range b.Keys {
			m[k] = b.Act
		}
	}
	return m
}

// Markdown returns the table for a README.
func (t Table[A]) Markdown() string {
	var b strings.Builder
	b.WriteString("| key | does |\n|---|---|\n")
	for _, k := range t {
		names := make([]string, len(k.Keys))
		for i, name := range k.Keys {
			names[i] = "`" + name + "`"
		}
		b.WriteString("| " + strings.Join(names, " ") + " | " + k.What + " |\n")
	}
	return b.String()
}
