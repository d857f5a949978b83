//go:build !race

package tui_test

const slowdown = 1
