package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"ratescope/feed"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/plural"
	"ratescope/model/record"
	"ratescope/model/safetext"
	"ratescope/model/span"
)

// Recording names the file of a recording and its bounds.
type Recording struct {
	File     string // compressed when it ends in .gz
	Force    bool   // write over a file that is there
	For      time.Duration
	MaxBytes int64         // of the file; 0 means DefaultMaxBytes
	Header   record.Header // as far as it is known before
	Progress bool          // print the progress on one line that is written over
}

// DefaultMaxBytes bounds a recording without a MaxBytes of its own.
const DefaultMaxBytes = 1_000_000_000

// Check returns what is wrong with r as a UsageError, or nil.
func (r Recording) Check() error {
	switch {
	case r.For < 0:
		return Usagef("--for %v is out of range: give a duration, as in 10m", r.For)
	case r.MaxBytes < 0:
		return Usagef("--max-mb is negative: give how many million bytes the file may have")
	}
	return checkNew(r.File, r.Force)
}

// Record writes the batches of src to a file until ctx ends, the time is over, the file is
// full or src fails, and prints what was recorded. A server that cannot be reached at first
// is an error; one that goes away later is a gap in the recording. When ctx ended first, its
// error is returned, and the file is complete all the same.
func Record(ctx context.Context, src feed.Source, r Recording, o Output) error {
	if err := r.Check(); err != nil {
		return err
	}
	w, line := batchWriter{Recording: r}, progressLine{to: o.Err}
	err := eachBatch(ctx, src, func(b model.Batch) bool {
		if w.out == nil {
			var wait bool
			if wait, w.err = unready(b); wait {
				return w.err == nil
			}
		}
		if w.write(b); w.err != nil || w.over() {
			return false
		}
		if r.Progress && b.Local.Sub(w.shown) >= time.Second {
			w.shown = b.Local
			line.print(w.progress())
		}
		return true
	})
	line.clear()
	err = cmp.Or(w.close(), err)
	if w.out != nil {
		fmt.Fprintln(o.Err, "ratescope: "+w.account())
	}
	return cmp.Or(err, ctx.Err())
}

// batchWriter writes batches to a file that it creates when the first one arrives.
type batchWriter struct {
	Recording
	file        *os.File
	out         *record.Writer
	first, last time.Time // of this machine's clock
	shown       time.Time // when the progress line was last written
	full        bool
	err         error
}

// write appends a batch; what goes wrong is in w.err. Batches from before the server's first answer have no
// instant, and are left out: a recording that began with one would begin in 1970.
func (w *batchWriter) write(b model.Batch) {
	if w.out == nil && b.At == 0 {
		return
	}
	if w.out == nil {
		w.first = b.Local
		h := w.Header
		h.At, h.Server = b.At, b.Server
		how := os.O_CREATE | os.O_EXCL | os.O_WRONLY
		if w.Force {
			how = os.O_CREATE | os.O_TRUNC | os.O_WRONLY
		}
		if w.file, w.err = os.OpenFile(w.File, how, 0o600); w.err == nil {
			w.out, w.err = record.NewWriter(w.file, strings.HasSuffix(w.File, ".gz"), h)
		}
	}
	if w.err == nil {
		w.last = b.Local
		w.err = w.out.Write(b)
		w.full = w.out.Bytes() >= cmp.Or(w.MaxBytes, DefaultMaxBytes)
	}
	if w.err != nil {
		w.err = file.Unwritable(w.File, w.err)
	}
}

// over reports whether the file is full or its time has passed.
func (w *batchWriter) over() bool { return w.full || w.For > 0 && w.last.Sub(w.first) >= w.For }

// close ends the file, if there is one.
func (w *batchWriter) close() error {
	err := w.err
	if w.out != nil {
		err = cmp.Or(err, w.out.Close())
	}
	if w.file != nil {
		err = cmp.Or(err, w.file.Close())
	}
	return err
}

// account describes what was recorded.
func (w *batchWriter) account() string {
	text := fmt.Sprintf("recorded %s in %s over %s: %s in %s",
		plural.Of(w.out.Keys(), "key"), plural.Of(w.out.Batches(), "batch"), span.Length(w.last.Sub(w.first).Round(100*time.Millisecond)), size(w.out.Bytes()), safetext.Clean(w.File))
	if w.full {
		text += ", which is full"
	}
	if n := w.out.Skipped(); n > 0 {
		text += fmt.Sprintf("; %s too large to be kept", plural.Of(n, "reading"))
	}
	return text
}

// progress describes what was recorded so far.
func (w *batchWriter) progress() string {
	return fmt.Sprintf("recording  %s  %s  %s  %s  ctrl+c ends it",
		plural.Of(w.out.Keys(), "key"), plural.Of(w.out.Batches(), "batch"), span.Elapsed(w.last.Sub(w.first)), size(w.out.Bytes()))
}

// size prints a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
