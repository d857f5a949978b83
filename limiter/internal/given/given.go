// Package given tells arguments that are not there, whatever their type, and sleeps with a context, on this machine's clock
// or on one that was given.
package given

import (
	"context"
	"reflect"
	"time"
)

// Absent reports whether v is nil, or holds a pointer, function, map or channel that is: an
// interface with such a value in it is not nil, and panics when it is used.
func Absent(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Interface, reflect.Slice:
		return r.IsNil()
	default:
		return false
	}
}

// Now returns what this machine's clock shows. It and Since are the one place where limiters look at it.
func Now() time.Time { return time.Now() }

// Since returns the time since a reading; it is cheaper than another one.
func Since(t time.Time) time.Duration { return time.Since(t) }

// poll is how often a wait looks at a clock that was given: it may run at any speed, or
// stand still until a test moves it.
const poll = time.Millisecond

// Until waits until a given clock, of microseconds, shows d more than now. A nil clock is this machine's.
func Until[I ~int64](ctx context.Context, clock func() I, d time.Duration) error {
	if clock == nil {
		return Sleep(ctx, d)
	}
	for end := clock() + I(d/time.Microsecond); clock() < end; {
		if err := Sleep(ctx, poll); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits for d, or for the end of the context.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, time.Microsecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
