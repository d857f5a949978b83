package cmd

import (
	"context"
	"fmt"
	"io"

	"ratescope/feed"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// output is where a command prints and how.
type output struct {
	Out, Err io.Writer
	JSON     bool // one object instead of text
	Names    report.Options
}

// print prints a report in the form that was asked for.
func (o output) print(r interface {
	JSON(io.Writer) error
	Text(io.Writer) error
}) error {
	if o.JSON {
		return r.JSON(o.Out)
	}
	return r.Text(o.Out)
}

// lacks prints what could not be told although the server answered, one sentence a line. Where
// nothing could be read, that is the error of unread.
func (o output) lacks(batch model.Batch) {
	if len(batch.Readings) == 0 {
		return
	}
	for _, lack := range batch.Server.Lacks {
		fmt.Fprintln(o.Err, "ratescope: "+safetext.Sentence(lack))
	}
}

// peekKey prints what would happen to a request of a cost at the key now. src watches that key
// alone.
func peekKey(ctx context.Context, src feed.Source, key string, cost int64, o output) error {
	if cost < 1 {
		return usagef("a cost of %d is out of range: give 1 or more", cost)
	}
	batch, r, err := feed.ReadKey(ctx, src, key)
	if err != nil {
		return err
	}
	o.lacks(batch)
	if t, err := r.Aim(); err == nil && r.Type == "none" {
		r.Target, r.State.Algorithm = t, t.Algorithm // what Fire would make of it
	}
	return o.print(report.PeekOf(&r, batch.At, cost, o.Names))
}

// usageError is an error in how the program was called: it makes the exit code 2.
type usageError struct{ Err error }

func (e usageError) Error() string { return e.Err.Error() }

// Unwrap returns the error that it wraps.
func (e usageError) Unwrap() error { return e.Err }

// exitError is an error with an exit code of its own.
type exitError struct {
	Code int
	Err  error
}

func (e exitError) Error() string { return e.Err.Error() }

// Unwrap returns the error that it wraps.
func (e exitError) Unwrap() error { return e.Err }

// usagef returns a usageError with a formatted text.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
