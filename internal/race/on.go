//go:build race

package race

// On reports whether the program was built with the race detector.
const On = true
