package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/adrg/xdg"

	"ratescope/limiter"
	"ratescope/model"
)

// audit appends JSON lines to a file that only its owner may read: one before a request is
// sent, and one when its outcome is known. A request that has only the first, because the
// program or its machine went down between the two, may have been counted by the server or
// not: its outcome is unknown. Lines are short enough for one write each, so that several
// processes may share the file; they are not synced to the disk one by one.
type audit struct {
	path string
	mu   sync.Mutex
	file *os.File
	user string
	run  string // tells the requests of this run from those of others
	n    int64
}

// stamp is how instants are written.
const stamp = "2006-01-02T15:04:05.000000Z"

// What a line says beside the outcomes of requests.
const (
	pending = "pending" // it is about to be sent
	done    = "done"    // a command that is no request was carried out
	failed  = "failed"  // … or not
)

// entry is one line. Key is quoted as Go quotes it when it is not valid UTF-8, which
// KeyQuoted says.
type entry struct {
	At           string `json:"at"`      // by this machine's clock
	Request      string `json:"request"` // the same in both lines
	Server       string `json:"server"`
	Key          string `json:"key,omitempty"`
	KeyQuoted    bool   `json:"key_quoted,omitempty"`
	Algorithm    string `json:"algorithm,omitempty"`
	Limit        string `json:"limit,omitempty"`
	Cost         int64  `json:"cost,omitempty"`
	Command      string `json:"command,omitempty"` // of what is no request; then there is no key
	Outcome      string `json:"outcome"`
	RetryAfterMS *int64 `json:"retry_after_ms,omitempty"` // -1 never; only when denied
	Error        string `json:"error,omitempty"`
	User         string `json:"user"`
	PID          int    `json:"pid"`
}

// auditPath is where the lines go when nobody says otherwise.
func auditPath() string { return filepath.Join(xdg.StateHome, "ratescope", "audit.jsonl") }

// open makes sure that lines can be written.
func (a *audit) open() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		return nil
	}
	if a.path == "" {
		a.path = auditPath()
	}
	err := os.MkdirAll(filepath.Dir(a.path), 0o700)
	if err == nil {
		a.file, err = os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("nothing is fired because the audit file %q cannot be written (%w): make it writable or set XDG_STATE_HOME", a.path, err)
	}
	a.run = strconv.FormatInt(time.Now().UnixNano(), 36)
	a.user = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		a.user = u.Username
	}
	return nil
}

// request is the line of a request that is about to be sent to key.
func (a *audit) request(server, key string, t model.Target, cost int64) entry {
	e := entry{
		Server: server, Key: key, Algorithm: t.Algorithm.String(), Limit: fmt.Sprintf("%d/%v", t.Limit.Count, t.Limit.Window), Cost: cost,
	}
	if !utf8.ValidString(key) {
		e.Key, e.KeyQuoted = strconv.Quote(key), true
	}
	return e
}

// begin writes that what e says is about to be done, and gives it its number. Nothing may
// be done when it fails.
func (a *audit) begin(e *entry) error {
	a.mu.Lock()
	a.n++
	e.Request = a.run + "-" + strconv.FormatInt(a.n, 10)
	a.mu.Unlock()
	e.Outcome = pending
	return a.append(*e)
}

// fired writes what came of a request that was begun.
func (a *audit) fired(e entry, f model.Fired) error {
	e.Outcome, e.Error = f.Outcome.String(), f.Err
	if f.Outcome == model.Denied {
		ms := int64(-1)
		if wait := f.Decision.RetryAfter; wait != limiter.Never {
			ms = int64((wait + time.Millisecond - 1) / time.Millisecond)
		}
		e.RetryAfterMS = &ms
	}
	return a.append(e)
}

// command writes that a command that is no request is about to be sent, has it sent, and
// writes whether it was carried out.
func (a *audit) command(server, text string, send func() error) error {
	e := entry{Server: server, Command: text}
	if err := a.begin(&e); err != nil {
		return err
	}
	err := send()
	e.Outcome = done
	if err != nil {
		e.Outcome, e.Error = failed, err.Error()
	}
	return errors.Join(err, a.append(e))
}

func (a *audit) append(e entry) error {
	e.At, e.User, e.PID = time.Now().UTC().Format(stamp), a.user, os.Getpid()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return os.ErrClosed
	}
	_, err = a.file.Write(append(line, '\n'))
	return err
}

func (a *audit) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file = nil
	return err
}
