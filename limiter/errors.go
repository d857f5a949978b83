package limiter

import (
	"errors"
	"fmt"
)

// The errors that callers tell apart with errors.Is.
var (
	// ErrBadRequest is a key, limit, cost or context that cannot be decided about. The
	// store was not asked.
	ErrBadRequest = errors.New("bad request")
	// ErrUnknownOutcome means that the request may or may not have been charged: no
	// answer came. It is never sent a second time, for that could charge it twice.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrNotOnStore is a variant that the store cannot keep.
	ErrNotOnStore = errors.New("not on this store")
	// ErrWrongType means that the Redis key holds something else than the algorithm keeps.
	// Nothing was changed. The error is a *WrongTypeError.
	ErrWrongType = errors.New("wrong type")
)

// WrongTypeError says which key holds what instead of what.
type WrongTypeError struct {
	Key  string // as it is on the server: raw bytes
	Type string // as TYPE says; "" when that could not be found out
	Want string // what the algorithm keeps there
}

// Error is one sentence with the key quoted, so that it is safe on a terminal.
func (e *WrongTypeError) Error() string {
	holds := "another type"
	if e.Type != "" {
		holds = "a " + e.Type
	}
	return fmt.Sprintf("key %q holds %s and not %s: choose the algorithm that fits it, or another key", e.Key, holds, e.Want)
}

// Is makes errors.Is(err, ErrWrongType) true.
func (e *WrongTypeError) Is(target error) bool { return target == ErrWrongType }

// unknownOutcome wraps the reason for which no answer came.
type unknownOutcome struct{ cause error }

func (e *unknownOutcome) Error() string {
	return fmt.Sprintf("no answer came, so the request may or may not have been counted: %v", e.cause)
}

func (e *unknownOutcome) Unwrap() []error { return []error{ErrUnknownOutcome, e.cause} }
