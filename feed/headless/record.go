package headless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"ratescope/feed"
	"ratescope/feed/settings"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/safetext"
)

// Recording says where to keep what is seen, and how much of it.
type Recording struct {
	File     string // compressed when it ends in .gz
	Force    bool   // write over a file that is there
	For      time.Duration
	MaxBytes int64         // of the file; 0 means DefaultMaxBytes
	Header   record.Header // as far as it is known before
	Progress bool          // tell how far it is, in one line that is written over
}

// DefaultMaxBytes is how large a recording may grow when nobody says.
const DefaultMaxBytes = 1_000_000_000

// Check says what is wrong with r, as a settings.UsageError, or returns nil.
func (r Recording) Check() error {
	switch _, err := os.Lstat(r.File); {
	case r.For < 0:
		return settings.Usagef("--for %v is out of range: give a duration, as in 10m", r.For)
	case r.MaxBytes < 0:
		return settings.Usagef("--max-mb is negative: give how many million bytes the file may have")
	case err == nil && !r.Force:
		return settings.Usagef("%s is there already: give another name, or --force to write over it", safetext.Clean(r.File))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return settings.UsageError{Err: settings.Unwritable(r.File, err)}
	}
	return nil
}

// Record keeps what src sees in a file until ctx ends, the time is over, the file is
// full or src fails, and says what it kept. A server that cannot be reached at first is
// an error; one that goes away later is a gap in the recording. When ctx ended first, its
// error is returned, and the file is whole all the same.
func Record(ctx context.Context, src feed.Source, r Recording, o Output) error {
	if err := r.Check(); err != nil {
		return err
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	box, ended := feed.NewMailbox(), make(chan error, 1)
	go func() {
		ended <- src.Run(within, box.Put)
		stop()
	}()
	k := keeper{Recording: r}
	said := ""
	for {
		b, err := box.Take(within)
		if err != nil {
			break
		}
		if k.out == nil && b.Server.Link != model.Live {
			if b.Server.Err == "" {
				continue // no answer yet
			}
			k.err = errors.New(b.Server.Err)
			break
		}
		if k.out == nil && len(b.Readings) == 0 && b.Sweep.Passes == 0 {
			continue // the keys are still being looked for
		}
		if k.keep(b); k.err != nil || k.over() {
			break
		}
		if r.Progress && b.Local.Sub(k.told) >= time.Second {
			k.told = b.Local
			said = k.progress(o.Err, said)
		}
	}
	stop()
	err := <-ended
	if said != "" {
		fmt.Fprint(o.Err, "\r"+strings.Repeat(" ", safetext.Width(said))+"\r")
	}
	err = cmp.Or(k.close(), err)
	if k.out != nil {
		fmt.Fprintln(o.Err, "ratescope: "+k.account())
	}
	return cmp.Or(err, ctx.Err())
}

// keeper writes batches to a file that it makes when the first one comes.
type keeper struct {
	Recording
	file        *os.File
	out         *record.Writer
	first, last time.Time // of this machine's clock
	told        time.Time
	full        bool
	err         error
}

// keep writes a batch.
func (k *keeper) keep(b model.Batch) {
	if k.out == nil {
		k.first = b.Local
		h := k.Header
		h.At, h.Server = b.At, b.Server
		how := os.O_CREATE | os.O_EXCL | os.O_WRONLY
		if k.Force {
			how = os.O_CREATE | os.O_TRUNC | os.O_WRONLY
		}
		if k.file, k.err = os.OpenFile(k.File, how, 0o600); k.err == nil {
			k.out, k.err = record.NewWriter(k.file, strings.HasSuffix(k.File, ".gz"), h)
		}
	}
	if k.err == nil {
		k.last = b.Local
		k.err = k.out.Write(b)
		k.full = k.out.Bytes() >= cmp.Or(k.MaxBytes, DefaultMaxBytes)
	}
	if k.err != nil {
		k.err = settings.Unwritable(k.File, k.err)
	}
}

// over says whether there is enough.
func (k *keeper) over() bool { return k.full || k.For > 0 && k.last.Sub(k.first) >= k.For }

// close ends the file, if there is one.
func (k *keeper) close() error {
	err := k.err
	if k.out != nil {
		err = cmp.Or(err, k.out.Close())
	}
	if k.file != nil {
		err = cmp.Or(err, k.file.Close())
	}
	return err
}

// account says what was kept.
func (k *keeper) account() string {
	text := fmt.Sprintf("recorded %s in %s over %v: %s in %s",
		plural(k.out.Keys(), "key"), plural(k.out.Batches(), "batch"), k.last.Sub(k.first).Round(100*time.Millisecond), size(k.out.Bytes()), safetext.Clean(k.File))
	if k.full {
		text += ", which is full"
	}
	if n := k.out.Skipped(); n > 0 {
		text += fmt.Sprintf("; %s too large to be kept", plural(n, "reading"))
	}
	return text
}

// progress writes how far it is over what it said before.
func (k *keeper) progress(w io.Writer, before string) string {
	text := fmt.Sprintf("recording  %s  %s  %v  %s  ctrl+c ends it",
		plural(k.out.Keys(), "key"), plural(k.out.Batches(), "batch"), k.last.Sub(k.first).Round(time.Second), size(k.out.Bytes()))
	fmt.Fprint(w, "\r"+text+strings.Repeat(" ", max(0, safetext.Width(before)-safetext.Width(text))))
	return text
}

func plural(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
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
