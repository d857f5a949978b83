package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/capsule"
	"ratescope/model/plural"
	"ratescope/model/record"
	"ratescope/model/safetext"
	"ratescope/model/span"
)

// Watching says what a capsule is made of without a dashboard.
type Watching struct {
	File     string
	Force    bool          // write over a file that is there
	For      time.Duration // how long to watch
	Header   record.Header // as far as it is known before
	Progress bool          // print the progress on one line that is written over
}

// Check returns what is wrong with w as a UsageError, or nil.
func (w Watching) Check() error {
	if w.For <= 0 || w.For > RecentSpan {
		return Usagef("--for %v is out of range: give 1s to %v, or record longer with \"ratescope record\"", w.For, RecentSpan)
	}
	return checkNew(w.File, w.Force)
}

// Capsule watches src for a time, or until ctx ends, and writes what content makes of it. When
// ctx ended first its error is returned, and the file is whole all the same. The error is an
// ExitError where nothing could be read.
func Capsule(ctx context.Context, src feed.Source, w Watching, content func(*model.Board, limiter.Instant, io.WriterTo) (capsule.Content, error), o Output) error {
	tail := record.NewTail(w.Header, RecentSpan, recentBytes)
	var board model.Board
	var begun time.Time
	var failed error
	line := progressLine{to: o.Err}
	err := eachBatch(ctx, src, func(b model.Batch) bool {
		if begun.IsZero() {
			wait, err := unready(b)
			if err != nil {
				failed = ExitError{ExitNothing, err}
			}
			if wait {
				return err == nil
			}
			begun = b.Local
		}
		failed = tail.Write(b)
		board.Apply(b)
		if w.Progress {
			line.print(fmt.Sprintf("watching  %s of %s  %s  ctrl+c ends it", span.Elapsed(b.Local.Sub(begun)), span.Length(w.For), plural.Of(board.Len(), "key")))
		}
		return failed == nil && b.Local.Sub(begun) < w.For
	})
	line.clear()
	if err := cmp.Or(err, failed); err != nil || begun.IsZero() {
		return cmp.Or(err, ctx.Err())
	}
	c, err := content(board.Freeze(board.At), tail.Begin(), tail)
	c.Cut = tail.Cut()
	if err == nil {
		err = WriteCapsule(w.File, w.Force, c)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Err, "ratescope: "+Saved(w.File, &c))
	return ctx.Err()
}

// WriteCapsule writes a capsule to a file that only its owner may read; one that is there is
// written over with force alone. A file that cannot be finished does not stay. The error is
// one sentence.
func WriteCapsule(name string, force bool, c capsule.Content) (err error) {
	if err := checkNew(name, force); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".ratescope-capsule-*")
	if err != nil {
		return file.Unwritable(name, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = file.Unwritable(name, err)
		}
	}()
	err = capsule.Write(f, c)
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(f.Name(), name)
	}
	if err = os.Link(f.Name(), name); err == nil { // unlike a rename it writes over nothing
		return os.Remove(f.Name())
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(f.Name(), name) // a file system without links
}

// checkNew returns a UsageError where a file cannot be made.
func checkNew(name string, force bool) error {
	switch _, err := os.Lstat(name); {
	case err == nil && !force:
		return Usagef("%s is there already: give another name, or --force to write over it", safetext.Clean(name))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return UsageError{Err: file.Unwritable(name, err)}
	}
	return nil
}

// Evidence fills in what a capsule has beside what was seen: the audit lines since an instant of
// this machine's clock that this session wrote, or that are about a key of the capsule, and the
// configuration without secrets. What cannot be read is left out.
func Evidence(c *capsule.Content, loaded *config.Config, since limiter.Instant) {
	c.Audit = fire.AuditSince("", fire.Extract{
		Since: since, Server: c.Board.Server.Target, Mask: c.Names.Mask,
		Shown: func(key string) bool { return c.Board.Key(key) != nil },
	})
	if loaded == nil {
		return
	}
	if c.Names.Mask {
		loaded = loaded.Masked()
	}
	c.Config, _ = loaded.WithoutSecrets().Show()
}

// Saved says in a sentence what a capsule holds.
func Saved(name string, c *capsule.Content) string {
	info, err := os.Stat(name)
	n := int64(0)
	if err == nil {
		n = info.Size()
	}
	return fmt.Sprintf("saved %s of %s in %s, %s: ratescope replay opens it", span.Elapsed(c.Board.At.Sub(c.Begin)), plural.Of(c.Board.Len(), "key"), safetext.Clean(name), size(n))
}
