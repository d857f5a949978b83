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

// audit appends a JSON line for every fired request to a file that only its owner may
// read. Lines are short enough for one write each, so that several processes may share
// the file.
type audit struct {
	path string
	mu   sync.Mutex
	file *os.File
	user string
}

// stamp is how instants are written.
const stamp = "2006-01-02T15:04:05.000000Z"

// entry is one line. Key is quoted as Go quotes it when it is not valid UTF-8, which
// KeyQuoted says.
type entry struct {
	At           string `json:"at"`
	Server       string `json:"server"`
	Key          string `json:"key"`
	KeyQuoted    bool   `json:"key_quoted,omitempty"`
	Algorithm    string `json:"algorithm"`
	Limit        string `json:"limit"`
	Cost         int64  `json:"cost"`
	Outcome      string `json:"outcome"`
	Command      string `json:"command,omitempty"`        // of what is no request; then there is no key
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
	a.user = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		a.user = u.Username
	}
	return nil
}

// write appends the line of one request.
func (a *audit) write(server string, t model.Target, f model.Fired, at time.Time) error {
	e := entry{
		At: at.UTC().Format(stamp), Server: server, Key: f.Key,
		Algorithm: t.Algorithm.String(), Limit: fmt.Sprintf("%d/%v", t.Limit.Count, t.Limit.Window),
		Cost: f.Cost, Outcome: f.Outcome.String(), Error: f.Err, User: a.user, PID: os.Getpid(),
	}
	if !utf8.ValidString(f.Key) {
		e.Key, e.KeyQuoted = strconv.Quote(f.Key), true
	}
	if f.Outcome == model.Denied {
		ms := int64(-1)
		if wait := f.Decision.RetryAfter; wait != limiter.Never {
			ms = int64((wait + time.Millisecond - 1) / time.Millisecond)
		}
		e.RetryAfterMS = &ms
	}
	return a.append(e)
}

// writeCommand appends the line of a command that is no request.
func (a *audit) writeCommand(server, command string, at time.Time) error {
	return a.append(entry{At: at.UTC().Format(stamp), Server: server, Command: command, Outcome: "sent", User: a.user, PID: os.Getpid()})
}

func (a *audit) append(e entry) error {
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
