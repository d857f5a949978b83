package fire

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/adrg/xdg"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/report"
)

// audit appends JSON lines to a file that only its owner may read: one before a request is
// sent, and one when its outcome is known. If the program or the machine stops between the two,
// the outcome of the request is unknown. Each order has a line before its first request, with
// the contents of the keys, and a line after its last request; both are synced to the disk
// before the program goes on. Each line is a single write, so that several processes may share
// the file.
type audit struct {
	path string
	mu   sync.Mutex
	file *os.File
	user string
	run  string // prefix of the actions of this process
	n    int64  // actions so far
}

// stamp is the layout of times in the file.
const stamp = "2006-01-02T15:04:05.000000Z"

// Outcomes in the file, in addition to those of requests.
const (
	begun   = "begun"   // an action: its requests follow
	pending = "pending" // a request: it is about to be sent
	ended   = "ended"   // an action: all its requests are accounted for
	undone  = "undone"  // an action: it is taken back

	armed    = "armed"    // no action: the user has armed firing
	disarmed = "disarmed" // no action: the user has ended the arming
)

// entry is one line of the file. If the key is not valid UTF-8, KeyQuoted is set and Key is
// quoted as Go quotes strings.
type entry struct {
	At           string `json:"at"`      // by this machine's clock
	Action       string `json:"action"`  // id of the action, in all its lines; undo takes it
	Request      string `json:"request"` // id of the request, in both its lines; "" for the action as a whole
	Server       string `json:"server"`
	Database     int    `json:"database,omitempty"`
	Key          string `json:"key,omitempty"`
	KeyQuoted    bool   `json:"key_quoted,omitempty"`
	Algorithm    string `json:"algorithm,omitempty"`
	Limit        string `json:"limit,omitempty"`
	Cost         int64  `json:"cost,omitempty"`
	Outcome      string `json:"outcome"`
	RetryAfterMS *int64 `json:"retry_after_ms,omitempty"` // of a denied request; -1 is never
	ServerAt     int64  `json:"server_us,omitempty"`      // when it was decided, by the server's clock, in µs since the epoch
	Used         int64  `json:"used,omitempty"`           // units used after the request
	Error        string `json:"error,omitempty"`
	User         string `json:"user"`
	PID          int    `json:"pid"`

	// Fields of requests to an application.
	URL     string            `json:"url,omitempty"` // without the values of its query
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // without values that may be secret
	Body    int               `json:"body_bytes,omitempty"`
	Status  int               `json:"status,omitempty"`

	// Fields of an action as a whole.
	person
	Reason   string          `json:"reason,omitempty"`
	Number   int             `json:"number,omitempty"`
	Rate     float64         `json:"rate,omitempty"`
	Library  string          `json:"library,omitempty"`
	Target   *model.Target   `json:"target,omitempty"` // how the key is limited
	Shape    string          `json:"shape,omitempty"`
	Change   string          `json:"change,omitempty"` // the change of the key, if it was not fired at
	Raise    *model.Raise    `json:"raise,omitempty"`  // the change of a limit that its library keeps in Redis
	Ticket   *ticketLine     `json:"ticket,omitempty"` // the forecast that the user was shown
	RunID    string          `json:"run_id,omitempty"` // the server that firing was armed for
	Before   []savedKey      `json:"before,omitempty"` // contents of the keys before the first request
	After    []savedKey      `json:"after,omitempty"`  // digests of their contents after the last request
	Others   string          `json:"others,omitempty"` // see trace.others
	Outcomes *model.Outcomes `json:"tally,omitempty"`
}

func (e *entry) name() string {
	if raw, err := strconv.Unquote(e.Key); e.KeyQuoted && err == nil {
		return raw
	}
	return e.Key
}

// person says who ran the program, as far as the machine knows.
type person struct {
	Host     string `json:"host,omitempty"`
	Terminal string `json:"terminal,omitempty"`
	Sudo     string `json:"sudo_user,omitempty"`
	SSH      string `json:"ssh,omitempty"` // address and port of the client
}

// ticketLine is a forecast in the audit file. Durations are in milliseconds; -1 is never.
type ticketLine struct {
	At        int64    `json:"at_ms"` // by the server's clock
	Path      string   `json:"path"`
	Admitted  int      `json:"admitted"`
	Denied    int      `json:"denied"`
	LastIn    int64    `json:"last_in_ms"`
	AsNew     int64    `json:"as_new_ms"`
	Displaced *int64   `json:"displaced,omitempty"` // requests of other clients; absent if unknown
	Keys      []string `json:"keys,omitempty"`      // quoted as Go quotes strings
	Commands  []string `json:"commands,omitempty"`
}

// lineOf converts a ticket for the audit file; nil stays nil.
func lineOf(t *model.Ticket) *ticketLine {
	if t == nil {
		return nil
	}
	l := &ticketLine{At: t.At.Millis(), Path: t.Path, Admitted: t.Forecast.Admitted, Denied: t.Forecast.Denied,
		LastIn: report.Millis(t.LastIn), AsNew: report.Millis(t.AsNew), Commands: t.Commands}
	if t.Organic.Known {
		l.Displaced = &t.Organic.Lost
	}
	l.Keys = collect.Map(t.Keys, strconv.Quote)
	return l
}

func whoRuns() person {
	p := person{Sudo: os.Getenv("SUDO_USER")}
	p.Host, _ = os.Hostname()
	p.SSH, _, _ = strings.Cut(os.Getenv("SSH_CONNECTION"), " ")
	if name, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(name, "/dev/") {
		p.Terminal = name
	}
	return p
}

// auditPath returns the path of the default file. It fails for a process without a home, whose
// state folder would be in the root of the file system.
func auditPath() (string, error) {
	if os.Getenv("HOME") == "" && os.Getenv("XDG_STATE_HOME") == "" && runtime.GOOS != "windows" {
		return "", errors.New("HOME is not set, so that there is no folder for the audit file, without which nothing is fired: set HOME " +
			"or XDG_STATE_HOME")
	}
	return filepath.Join(xdg.StateHome, "ratescope", "audit.jsonl"), nil
}

func (a *audit) open() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		return nil
	}
	var err error
	if a.path == "" {
		if a.path, err = auditPath(); err != nil {
			return err
		}
	}
	if err = a.rotate(); err == nil {
		a.file, err = file.Append(a.path)
	}
	if err != nil {
		return fmt.Errorf("nothing is fired because the audit file %q cannot be written (%w): make it writable or set XDG_STATE_HOME",
			a.path, err)
	}
	a.run = strconv.FormatInt(time.Now().UnixNano(), 36)
	a.user = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		a.user = u.Username
	}
	return nil
}

// action is an order in the audit file: requests to fire, or one change of a key. All its lines
// have its id.
type action struct {
	id     string
	line   entry      // fields that all lines share
	before []savedKey // contents of the keys before the action
	// Contents before and after a change, saved in the transaction that made it; nil if they
	// were not, and before counts.
	exact, left []savedKey
	failed      string       // error of a change
	raised      *model.Raise // change of a limit that its library keeps in Redis; else nil
	trace       *trace       // finds other writers; nil for a change
	begun       limiter.Instant
	n           atomic.Int64 // requests so far
}

func (a *audit) newAction(server string, database int, s model.Order) *action {
	a.mu.Lock()
	a.n++
	act := &action{id: a.run + "-" + strconv.FormatInt(a.n, 10)}
	a.mu.Unlock()
	t := s.Target
	act.line = entry{Action: act.id, Server: server, Database: database, Key: s.Key, Algorithm: t.Algorithm.String(),
		Limit: fmt.Sprintf("%d/%v", t.Limit.Count, t.Limit.Window), Cost: s.Cost}
	if !utf8.ValidString(s.Key) {
		act.line.Key, act.line.KeyQuoted = strconv.Quote(s.Key), true
	}
	return act
}

// request returns the line for the next request of the action, to be written before it is sent.
func (act *action) request() entry {
	e := act.line
	e.Request = act.id + "." + strconv.FormatInt(act.n.Add(1), 10)
	e.Outcome = pending
	return e
}

// fired writes the outcome of a request, whose first line is e.
func (a *audit) fired(e entry, f model.Fired) error {
	e.Outcome, e.Error = f.Outcome.String(), f.Err
	if f.Answer == nil && (f.Outcome == model.Admitted || f.Outcome == model.Denied) {
		e.ServerAt, e.Used = int64(f.At), f.Decision.Used
	}
	if f.Answer != nil {
		e.Status = f.Answer.Status
	}
	if f.Outcome == model.Denied && (f.Answer == nil || f.Answer.RetryAfter.Known) {
		if a := f.Answer; a != nil {
			f.Decision.RetryAfter = a.RetryAfter.D
		}
		e.RetryAfterMS = new(report.Millis(f.Decision.RetryAfter))
	}
	return a.append(e)
}

// append writes one line. Lines of an action as a whole are synced to the disk. The error is one sentence.
func (a *audit) append(e entry) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("firing stopped because the audit file %q cannot be written: %w", a.path, err)
		}
	}()
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
	if _, err = a.file.Write(append(line, '\n')); err != nil || e.Request != "" {
		return err
	}
	return a.file.Sync()
}

// maxAudit is the size of the file in bytes above which the next run renames it.
const maxAudit = 32 << 20

// rotate renames a file that has grown beyond maxAudit. a.mu must be held.
func (a *audit) rotate() error {
	info, err := os.Lstat(a.path)
	if err != nil || info.Size() < maxAudit {
		return nil
	}
	return os.Rename(a.path, a.asidePrefix()+time.Now().UTC().Format("20060102T150405")+".jsonl")
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
