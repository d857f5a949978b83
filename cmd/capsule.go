package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

func newCapsule(p *program) *cobra.Command {
	c := helped("capsule FILE")
	long := c.Flags().Duration("for", 10*time.Second, "how long to watch, as in 1m")
	force := c.Flags().Bool("force", false, "write over a file that is there")
	return p.command(c, one("file", "name the file to write, as in incident.zip"), func(c *cobra.Command, args []string) error {
		o := p.recording(args[0])
		o.For, o.Force, o.Progress = *long, *force, term.IsTerminal(os.Stderr.Fd())
		if o.For <= 0 || o.For > recentSpan {
			return usagef("--for %v is out of range: give 1s to %v, or record longer with \"ratescope record\"", o.For, recentSpan)
		}
		if err := checkNew(o.File, o.Force, orForce); err != nil {
			return err
		}
		return p.opened(func(src server) error { return p.watchCapsule(c.Context(), src, o, p.output(c)) })
	}, watchFlags, []string{"theme"})
}

// content puts together what a capsule holds.
func (p *program) content(board *model.Board, tail *record.Tail, alerts []report.Alert) (report.Capsule, error) {
	look, err := p.look.options()
	if err != nil {
		return report.Capsule{}, err
	}
	text, svg, err := tui.Picture(board, tui.Options{Look: shell.Options{Shelf: look.Shelf, Theme: cmp.Or(look.Theme, "phosphor")},
		Session: session.Options{Mask: p.names.Mask}})
	if err != nil {
		return report.Capsule{}, err
	}
	c := report.Capsule{
		By: "ratescope " + buildText(p.version), Made: time.Now(), Begin: tail.Begin(), Board: board, Recording: tail, Cut: tail.Cut(),
		Events: tui.Events(board), Concerns: tui.Concerns(board), Alerts: alerts, Text: text, SVG: svg, Names: p.names,
	}
	loaded, err := p.Loaded()
	if err != nil {
		return report.Capsule{}, err
	}
	// Since an instant of this machine's clock, what this session fired or what is about a key of the capsule.
	c.Audit = fire.AuditSince("", fire.Extract{Since: c.Begin.Add(-board.Server.Offset), Server: board.Server.Target, Mask: p.names.Mask,
		Shown: func(key string) bool { return board.Key(key) != nil }})
	c.Config = loaded.Shared(p.names.Mask).Show()
	return c, nil
}

// watchCapsule watches src for a time, or until ctx ends, and writes a capsule of it. When
// ctx ended first its error is returned, and the file is whole all the same.
func (p *program) watchCapsule(ctx context.Context, src feed.Source, w recording, o output) error {
	tail := record.NewTail(w.Header, recentSpan, recentBytes)
	var board model.Board
	var begun time.Time
	var failed error
	line := progressLine{to: o.Err}
	err := eachBatch(ctx, src, func(b model.Batch) bool {
		if begun.IsZero() {
			begun = b.Local
		}
		failed = tail.Write(b)
		board.Apply(b)
		if w.Progress {
			line.print(fmt.Sprintf("watching  %s of %s  %s  ctrl+c ends it", format.Elapsed(b.Local.Sub(begun)), format.Length(w.For),
				format.Plural(board.Len(), "key")))
		}
		return failed == nil && b.Local.Sub(begun) < w.For
	})
	line.clear()
	if err := cmp.Or(err, failed); err != nil || begun.IsZero() {
		return cmp.Or(err, ctx.Err())
	}
	c, err := p.content(board.Freeze(board.At), tail, nil)
	if err != nil {
		return err
	}
	account, err := writeCapsule(w.File, w.Force, &c)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Err, "ratescope: "+account)
	return ctx.Err()
}

// writeCapsule writes a capsule to a file, and says in a sentence what it holds; one that is there is written over with force alone.
// The error is one sentence.
func writeCapsule(name string, force bool, c *report.Capsule) (account string, err error) {
	bytes := int64(0)
	if err := file.Create(name, force, func(f *os.File) error {
		err := c.Write(f)
		if info, failed := f.Stat(); failed == nil {
			bytes = info.Size()
		}
		return err
	}); err != nil {
		return "", file.Unwritable(name, err)
	}
	return fmt.Sprintf("saved %s: %s of %s, %s; ratescope replay opens it", safetext.Clean(name),
		format.Elapsed(c.Board.At.Sub(c.Begin)), format.Plural(c.Board.Len(), "key"), size(bytes)), nil
}

// orForce is the remedy of commands that have --force.
const orForce = "give another name, or --force to write over it"

// checkNew returns an error of usage where a file cannot be made; remedy is what can be done about one that is there already.
func checkNew(name string, force bool, remedy string) error {
	switch _, err := os.Lstat(name); {
	case err == nil && !force:
		return usagef("%s is there already: %s", safetext.Clean(name), remedy)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usage(file.Unwritable(name, err))
	case err != nil: // before there is anything to write
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return file.Unwritable(name, err)
		}
		return errors.Join(f.Close(), os.Remove(name))
	}
	return nil
}

// What is kept in memory for a capsule.
const (
	recentSpan  = 10 * time.Minute
	recentBytes = 40 << 20 // at most, beside the latest readings and what is being compressed
)

// recentBatches keeps the last minutes of a running dashboard in memory, compressed. It is safe for
// concurrent use. End it.
type recentBatches struct {
	*drain
	tail *record.Tail
	err  error
}

// board returns the board as it stood at a moment; nil where that is not kept.
func (r *recentBatches) board(at limiter.Instant) *model.Board {
	since := at.Add(-30 * time.Second) // so that the rates and spells of the latest seconds are known
	r.mu.Lock()
	r.take()
	begin := r.tail.Begin()
	kept, err := r.tail.From(since)
	r.mu.Unlock()
	if err != nil || begin > at || begin == 0 {
		return nil
	}
	board, _ := kept.BoardAt(at, since)
	return board
}

// from returns a reader of all that is kept.
func (r *recentBatches) from(int) (*record.Reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	return r.tail.From(0)
}

// save writes a capsule of all that is kept in the working folder; content puts it together.
func (r *recentBatches) save(content func(*record.Tail) (report.Capsule, error)) (account string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	c, err := content(r.tail)
	if err = cmp.Or(r.err, err); err != nil {
		return "", err
	}
	name := "ratescope-" + time.Now().Format("20060102-150405.000") + ".zip"
	if whole, err := filepath.Abs(name); err == nil {
		name = whole // so that the screen says in which folder it is
	}
	return writeCapsule(name, false, &c)
}

// newRecent returns what keeps the last minutes; of h the instant and the server are set from what it gets.
func newRecent(h record.Header) *recentBatches {
	r := &recentBatches{tail: record.NewTail(h, recentSpan, recentBytes)}
	r.drain = newDrain(func(b model.Batch) {
		if r.err == nil {
			r.err = r.tail.Write(b)
		}
	})
	return r
}
