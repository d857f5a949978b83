package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed/connect"
	"ratescope/internal/file"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
)

// debugged runs a command with the debug log that --debug names, and says on standard error
// where the log is not whole.
func (p *program) debugged(c *cobra.Command, run func() error) error {
	if !c.Flags().Changed("debug") {
		return run()
	}
	if p.debug == "" {
		return usage(errors.New("--debug is empty: name the file to write to"))
	}
	log, err := openDebugLog(p.debug, debugLimit)
	if err != nil {
		return err
	}
	p.timed, p.Flags.Trace = log.Message, log.RoundTrip
	defer func() {
		if err := log.Close(); err != nil {
			fmt.Fprintln(c.ErrOrStderr(), "ratescope: the debug log ends too soon:", err)
		}
	}()
	return run()
}

// debugLimit bounds the size of a debug log, in bytes: about half a day of one dashboard.
const debugLimit = 64_000_000

// debugLog writes how long messages of a screen and round trips to a server took, as lines of slog, to a file that
// only its owner may read. It holds no key, no value and nothing that was typed. Its methods may be called from any
// goroutine; what comes after Close is not written.
type debugLog struct {
	to   *slog.Logger
	name string
	mu   sync.Mutex
	file *os.File
	left int64 // bytes until the file is full
	err  error // of the first line that is missing
}

// openDebugLog opens a debug log, and goes on with one that is there. The error is an error of usage.
func openDebugLog(name string, limit int64) (*debugLog, error) {
	f, err := file.Append(name)
	if err != nil {
		return nil, usage(file.Unwritable(name, err))
	}
	info, err := f.Stat()
	if err == nil && info.Size() >= limit {
		err = fmt.Errorf("it has reached %s, the most that a debug log takes: remove it or name another file", size(limit))
	}
	if err != nil {
		f.Close()
		return nil, usage(file.Unwritable(name, err))
	}
	d := &debugLog{name: name, file: f, left: limit - info.Size()}
	d.to = slog.New(slog.NewJSONHandler(d, nil))
	return d, nil
}

// Write implements io.Writer for a line.
func (d *debugLog) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.left -= int64(len(line)); {
	case d.err != nil:
	case d.left < 0:
		d.err = fmt.Errorf("%s is full: name another file to see what came later", safetext.Clean(d.name))
	default:
		if _, err := d.file.Write(line); err != nil {
			d.err = file.Unwritable(d.name, err)
		}
	}
	return len(line), nil
}

func (d *debugLog) Message(t shell.Timing) {
	d.to.Info("message", "type", t.Message, "update_ms", milliseconds(t.Update), "view_ms", milliseconds(t.View))
}

// RoundTrip tells of an exchange with a server; one without commands made the connection.
func (d *debugLog) RoundTrip(r connect.RoundTrip) {
	d.to.Info("round trip", "server", r.Server, "commands", r.Commands, "latency_ms", milliseconds(r.Took), "failed", r.Failed)
}

func milliseconds(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }

// Close ends the log. The error says why it is not whole.
func (d *debugLog) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := cmp.Or(d.err, d.file.Close())
	d.err = os.ErrClosed
	return err
}
