package cli

import (
	"fmt"
)

// UsageError is an error in how the program was called: it makes the exit code 2.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error that it wraps.
func (e UsageError) Unwrap() error { return e.Err }

// Exit codes beside 0, which is success, and 1, which is any other failure.
const (
	ExitUsage   = 2
	ExitOver    = 3 // a key is at or above Snapshot's FailOver
	ExitNothing = 4 // of snapshot, identify and capsule: the server gave nothing
)

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error that it wraps.
func (e ExitError) Unwrap() error { return e.Err }

// Usagef returns a UsageError with a formatted text.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
