//go:build !race

package tui_test

// slowdown is by how much less tests do at random than they could: a third of it takes 15 s.
const slowdown = 3
