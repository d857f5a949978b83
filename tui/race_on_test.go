//go:build race

package tui_test

// slowdown is by how much the race detector slows what tests do at random; they do that
// much less of it.
const slowdown = 6
