// Package headless holds what the commands without a screen do: one look, one answer,
// requests fired, limiters verified. Each function is a command's body; its arguments
// have been read, and its errors are one sentence each.
package headless

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ratescope/feed"
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

// Snapshot reads every watched key of src once and prints it.
func Snapshot(ctx context.Context, src feed.Source, o Output) error {
	batch, err := feed.Once(ctx, src)
	if err != nil {
		return err
	}
	for _, lack := range batch.Server.Lacks {
		fmt.Fprintln(o.Err, "ratescope: "+safetext.Sentence(lack))
	}
	if len(batch.Readings) == 0 && len(batch.Server.Lacks) == 0 {
		fmt.Fprintf(o.Err, "ratescope: there is no limiter among the keys that match %s\n",
			safetext.Sentence(strings.Join(batch.Sweep.Patterns, " or ")))
	}
	return o.print(report.SnapshotOf(batch, o.Names))
}

// Peek prints what would happen to a request at the key now. src watches that key alone.
func Peek(ctx context.Context, src feed.Source, key string, o Output) error {
	at, r, err := feed.Glance(ctx, src, key)
	if err != nil {
		return err
	}
	if t, err := r.Aim(); err == nil && r.Type == "none" {
		r.Target, r.State.Algorithm = t, t.Algorithm // what Fire would make of it
	}
	return o.print(report.PeekOf(&r, at, o.Names))
}
