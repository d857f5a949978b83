// Package cli holds what the commands without a screen do: one look, one answer,
// requests fired, limiters verified. Each function is a command's body; its arguments
// have been read, and its errors are one sentence each.
package cli

import (
	"context"
	"fmt"
	"io"

	"ratescope/feed"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Output is where a command prints and how.
type Output struct {
	Out, Err io.Writer
	JSON     bool // one object instead of text
	Names    report.Options
}

// print prints a report in the form that was asked for.
func (o Output) print(r interface {
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
func (o Output) lacks(batch model.Batch) {
	if len(batch.Readings) == 0 {
		return
	}
	for _, lack := range batch.Server.Lacks {
		fmt.Fprintln(o.Err, "ratescope: "+safetext.Sentence(lack))
	}
}

// Peek prints what would happen to a request of a cost at the key now. src watches that key
// alone.
func Peek(ctx context.Context, src feed.Source, key string, cost int64, o Output) error {
	if cost < 1 {
		return Usagef("a cost of %d is out of range: give 1 or more", cost)
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
