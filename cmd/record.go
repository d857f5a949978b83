package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/safetext"
)

// recording returns what all recordings of this run have in common.
func (p *program) recording(name string) recording {
	return recording{File: name, Header: record.Header{By: "ratescope " + buildText(p.version), Watch: p.Flags.Watch, Rules: p.RuleTexts(),
		Mask: p.names.Mask}}
}

func newRecord(p *program) *cobra.Command {
	c := helped("record FILE")
	for10 := c.Flags().Duration("for", 0, "how long to record, as in 10m (default: until ctrl+c)")
	c.Flags().Lookup("for").DefValue = "" // 0s would be told as the default
	mb := c.Flags().Int64("max-mb", maxRecording/1_000_000, "end when the file has so many million bytes")
	force := c.Flags().Bool("force", false, "write over a file that is there")
	return p.command(c, one("file", "name the file to write, as in incident.jsonl.gz"), func(c *cobra.Command, args []string) error {
		r := p.recording(args[0])
		r.For, r.MaxBytes, r.Force, r.Progress = *for10, *mb*1_000_000, *force, term.IsTerminal(os.Stderr.Fd())
		if err := r.Check(); err != nil {
			return err
		}
		p.service = true
		return p.opened(func(src server) error { return recordBatches(c.Context(), src, r, p.output(c)) })
	}, watchFlags)
}

// recording names the file of a recording and its bounds.
type recording struct {
	File     string // compressed when it ends in .gz
	Force    bool   // write over a file that is there
	For      time.Duration
	MaxBytes int64         // of the file; 0 means maxRecording
	Header   record.Header // as far as it is known before
	Progress bool          // print the progress on one line that is written over
}

// maxRecording bounds a recording without a MaxBytes of its own.
const maxRecording = 1_000_000_000

// Check returns what is wrong with r as an error of usage, or nil.
func (r recording) Check() error {
	switch {
	case r.For < 0:
		return usagef("--for %v is out of range: give a duration, as in 10m", r.For)
	case r.MaxBytes < 0:
		return usagef("--max-mb is negative: give how many million bytes the file may have")
	}
	return checkNew(r.File, r.Force, orForce)
}

// recordBatches writes the batches of src to a file until ctx ends, the time is over, the file is
// full or src fails, and prints what was recorded. A server that cannot be reached at first
// is an error; one that goes away later is a gap in the recording. When ctx ended first, its
// error is returned, and the file is complete all the same.
func recordBatches(ctx context.Context, src feed.Source, r recording, o output) error {
	w, line := batchWriter{recording: r}, progressLine{to: o.Err}
	err := eachBatch(ctx, src, func(b model.Batch) bool {
		if w.write(b); w.err != nil || w.full || w.For > 0 && w.last.Sub(w.first) >= w.For {
			return false
		}
		if r.Progress {
			line.print(fmt.Sprintf("recording  %s  %s  %s  %s  ctrl+c ends it", format.Plural(w.out.Keys(), "key"),
				format.Plural(w.out.Batches(), "batch"), format.Elapsed(w.last.Sub(w.first)), size(w.out.Bytes())))
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
	recording
	file        *os.File
	out         *record.Writer
	first, last time.Time // of this machine's clock
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
		how := collect.If(w.Force, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
		if w.file, w.err = os.OpenFile(w.File, how, 0o600); w.err == nil {
			w.out, w.err = record.NewWriter(w.file, strings.HasSuffix(w.File, ".gz"), h)
		}
	}
	if w.err == nil {
		w.last = b.Local
		w.err = w.out.Write(b)
		w.full = w.out.Bytes() >= cmp.Or(w.MaxBytes, maxRecording)
	}
	if w.err != nil {
		w.err = file.Unwritable(w.File, w.err)
	}
}

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
		format.Plural(w.out.Keys(), "key"), format.Plural(w.out.Batches(), "batch"),
		format.Length(w.last.Sub(w.first).Round(100*time.Millisecond)), size(w.out.Bytes()), safetext.Clean(w.File))
	if w.full {
		text += ", which is full"
	}
	if n := w.out.Skipped(); n > 0 {
		text += fmt.Sprintf("; %s too large to be kept", format.Plural(n, "reading"))
	}
	return text
}

func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// eachBatch runs src and gives take every batch from the first that tells something, on the caller's goroutine, until take
// returns false, src ends or ctx ends. A server that only stands still is waited for. The error is that of src, or says why
// the server cannot be reached.
func eachBatch(ctx context.Context, src feed.Source, take func(model.Batch) (more bool)) error {
	ready := false
	return alongside(ctx, src, func(ctx context.Context, box *feed.Mailbox) error {
		for {
			b, err := box.Take(ctx)
			if err != nil {
				return nil
			}
			live := b.Server.Link == model.Live
			if ready = ready || live && (len(b.Readings) > 0 || b.Sweep.Passes > 0); ready && !take(b) {
				return nil
			}
			if !ready && !live && b.Server.Err != "" && !feed.MayAnswer(b.Server) {
				return feed.Away(b.Server.Err)
			}
		}
	})
}

// drain hands batches to a writer on a goroutine of its own, so that Put never waits for the disk. Make one
// with newDrain.
type drain struct {
	box   *feed.Mailbox
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended
	write func(model.Batch)

	mu sync.Mutex // held while write runs
}

func newDrain(write func(model.Batch)) *drain {
	ctx, stop := context.WithCancel(context.Background())
	d := &drain{box: feed.NewMailbox(), stop: stop, done: make(chan struct{}), write: write}
	go func() {
		defer close(d.done)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-d.box.Ready():
				d.mu.Lock()
				d.take()
				d.mu.Unlock()
			}
		}
	}()
	return d
}

// take writes what waits. d.mu is held.
func (d *drain) take() {
	if b, ok := d.box.TryTake(); ok {
		d.write(b)
	}
}

// Put hands over a batch that is not modified any more. It never blocks, and must not be called after close.
func (d *drain) Put(b model.Batch) { d.box.Put(b) }

// end writes the last batch and ends the goroutine.
func (d *drain) end() {
	d.stop()
	<-d.done
	d.take()
}

// recorder writes the batches of a running dashboard to a file.
type recorder struct {
	*drain
	file *batchWriter
}

// newRecorder starts a recording; r.For is ignored. The error is an error of usage.
func newRecorder(r recording) (*recorder, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	w := &batchWriter{recording: r}
	return &recorder{newDrain(func(b model.Batch) {
		if !w.full && w.err == nil {
			w.write(b)
		}
	}), w}, nil
}

// Close writes the last batch, ends the file and describes what it holds.
func (r *recorder) Close() (account string, err error) {
	r.end()
	if err := r.file.close(); err != nil {
		return "", err
	}
	if r.file.out == nil {
		return "nothing was recorded", nil
	}
	return r.file.account(), nil
}
