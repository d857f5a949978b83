package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
		return usageError{Err: errors.New("--debug is empty: name the file to write to")}
	}
	log, err := openDebugLog(p.debug, debugLimit, time.Now)
	if err != nil {
		return err
	}
	p.debugLog, p.Flags.Trace = log, log.RoundTrip
	defer func() {
		if what := log.Close(); what != "" {
			fmt.Fprintln(c.ErrOrStderr(), "ratescope: "+what)
		}
	}()
	return run()
}

// timed returns what receives the times of a screen's messages; nil without a debug log.
func (p *program) timed() func(shell.Timing) {
	if p.debugLog == nil {
		return nil
	}
	return func(t shell.Timing) { p.debugLog.Message(t.Message, t.Update, t.View) }
}

// debugLimit bounds the size of a debug log, in bytes: about half a day of one dashboard.
const debugLimit = 64_000_000

// debugLog writes how long messages of a screen and round trips to a server took, a JSON object
// a line, to a file that only its owner may read. It holds no key, no value and nothing that was
// typed. Its methods may be called from any goroutine; it does nothing after Close.
type debugLog struct {
	name  string
	limit int64
	now   func() time.Time

	mu     sync.Mutex
	file   *os.File
	size   int64 // of the file
	full   bool
	failed error
	ended  bool
}

// debugLine is one line. A message has Update and View, a round trip has Commands, and a
// connection that was made has Connected.
type debugLine struct {
	At string `json:"at"` // by this machine's clock

	Message string   `json:"message,omitempty"`
	Update  *float64 `json:"update_ms,omitempty"`
	View    *float64 `json:"view_ms,omitempty"`

	Server    string         `json:"server,omitempty"`
	Connected bool           `json:"connected,omitempty"`
	Commands  map[string]int `json:"commands,omitempty"`
	Latency   *float64       `json:"latency_ms,omitempty"`
	Failed    string         `json:"failed,omitempty"`

	Ended string `json:"ended,omitempty"` // why nothing follows
}

// openDebugLog opens a debug log, and goes on with one that is there. The error is a usageError.
func openDebugLog(name string, limit int64, now func() time.Time) (*debugLog, error) {
	f, err := file.Append(name)
	if err != nil {
		return nil, usageError{file.Unwritable(name, err)}
	}
	info, err := f.Stat()
	if err == nil && info.Size() >= limit {
		err = fmt.Errorf("it has reached %s, the most that a debug log takes: remove it or name another file", size(limit))
	}
	if err != nil {
		f.Close()
		return nil, usageError{file.Unwritable(name, err)}
	}
	return &debugLog{name: name, file: f, limit: limit, size: info.Size(), now: now}, nil
}

// Message tells of a message of a screen.
func (d *debugLog) Message(kind string, update, view time.Duration) {
	u, v := milliseconds(update), milliseconds(view)
	d.put(debugLine{Message: kind, Update: &u, View: &v})
}

// RoundTrip tells of an exchange with a server.
func (d *debugLog) RoundTrip(r connect.RoundTrip) {
	took := milliseconds(r.Took)
	d.put(debugLine{Server: r.Server, Connected: len(r.Commands) == 0 && r.Failed == "", Commands: r.Commands, Latency: &took,
		Failed: r.Failed})
}

func milliseconds(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }

// put writes a line, the last one where the file is full.
func (d *debugLog) put(line debugLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.full || d.failed != nil {
		return
	}
	line.At = d.now().UTC().Format("2006-01-02T15:04:05.000000Z")
	content, err := json.Marshal(line)
	if err == nil && d.size+int64(len(content))+1 > d.limit-debugReserve {
		d.full = true
		content, err = json.Marshal(debugLine{At: line.At, Ended: "the file has reached " + size(d.limit)})
	}
	if err == nil {
		d.size += int64(len(content)) + 1
		_, err = d.file.Write(append(content, '\n'))
	}
	d.failed = err
}

// debugReserve is the room for the last line of a full log, in bytes.
const debugReserve = 200

// Close ends the log. It returns a sentence for the user where the log is not whole, else "".
func (d *debugLog) Close() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return ""
	}
	d.ended = true
	switch err := cmp.Or(d.failed, d.file.Close()); {
	case err != nil:
		return "the debug log ends too soon: " + file.Unwritable(d.name, err).Error()
	case d.full:
		return fmt.Sprintf("the debug log %s has reached %s and ends there: name another file to see what came later", safetext.Clean(d.name),
			size(d.limit))
	}
	return ""
}
