package fire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ratescope/feed/fire/foreign"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/safetext"
)

// maxLine bounds one line of the audit file, in bytes.
const maxLine = 16 << 20

// maxAside is how many of the files that rotate has renamed are searched for an action.
const maxAside = 16

// asidePrefix begins the names that rotate gives.
func (a *audit) asidePrefix() string { return strings.TrimSuffix(a.path, ".jsonl") + "-" }

// files returns the audit files to search, oldest first: the latest renamed ones, and the
// current one.
func (a *audit) files() []string {
	folder, prefix := filepath.Split(a.asidePrefix())
	found, _ := os.ReadDir(filepath.Clean(folder)) // sorted by name, which is a time; opening the current file reports an error
	var list []string
	for _, e := range found {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".jsonl") && e.Type().IsRegular() {
			list = append(list, folder+e.Name())
		}
	}
	return append(list[max(len(list)-maxAside, 0):], a.path)
}

// each calls take for every line of all files that contains a text, oldest first.
func (a *audit) each(text string, take func(e *entry)) error {
	for _, name := range a.files() {
		f, err := file.Open(name)
		if err != nil {
			return err
		}
		err = eachLine(f, text, take)
		f.Close()
		if err != nil {
			return fmt.Errorf("the audit file %q cannot be read: %w", name, err)
		}
	}
	return nil
}

// eachLine calls take for every line that contains a text. Incomplete lines are skipped.
func eachLine(in io.Reader, text string, take func(e *entry)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e entry
		if bytes.Contains(lines.Bytes(), []byte(text)) && json.Unmarshal(lines.Bytes(), &e) == nil {
			take(&e)
		}
	}
	return lines.Err()
}

// found is an action in the audit file.
type found struct {
	first, last entry    // of the action as a whole; an action that did not end has a last line made of its requests
	ended       bool     // what its keys held before and after it is known
	open        []string // requests whose outcome is not known, and when they were sent, in words
	charges     []charge // requests that were charged, oldest first
}

// charge is one request of an action that was charged.
type charge struct {
	at         limiter.Instant // when it was decided
	cost, used int64           // its cost, and the units used after it
}

// misses reports whether a charge is in a key that was not saved before the action: the counter of a later window than the saved ones.
func (e *entry) misses(c charge) bool {
	if e.Target == nil || len(e.Before) == 0 {
		return false
	}
	return slices.ContainsFunc(kept(foreign.For(e.Target), e.name(), *e.Target, c.at), func(key string) bool {
		return !slices.ContainsFunc(e.Before, func(k savedKey) bool { return string(k.Key) == key })
	})
}

// find returns an action. It fails if the action is unknown or was taken back, and if it is a change that did
// not end. Requests that did not all end are those of a program that was killed, or whose server stopped
// answering: each has its lines.
func (a *audit) find(id string) (found, error) {
	var first, last entry
	var charges []charge
	taken := "" // when it was taken back; "" if it was not
	var outcomes model.Outcomes
	sent := make(map[string]string)
	err := a.each(id, func(e *entry) {
		switch {
		case e.Action != id:
		case e.Request != "" && e.Outcome == pending:
			sent[e.Request] = e.At
		case e.Request != "":
			if e.Outcome == model.Unanswered.String() {
				return
			}
			delete(sent, e.Request)
			charged := e.Outcome == model.Admitted.String() || e.Outcome == model.Denied.String() && deniedCharged(first.Target)
			if charged && e.ServerAt != 0 {
				charges = append(charges, charge{limiter.Instant(e.ServerAt), e.Cost, e.Used})
			}
			for o := model.Admitted; o < model.Unanswered; o++ {
				if o.String() == e.Outcome {
					outcomes.Add(o)
				}
			}
		case e.Outcome == begun:
			first = *e
		case e.Outcome == ended:
			last = *e
		case e.Outcome == undone: // written before it is done; a second line has the error if that failed
			if taken = e.At; e.Error != "" {
				taken = ""
			}
		}
	})
	slices.SortStableFunc(charges, func(a, b charge) int { return cmp.Compare(a.at, b.at) })
	f := found{first: first, last: last, charges: charges}
	f.ended = last.Action != "" && (first.Change != "" || len(first.Before) == 0 || len(last.After) > 0) &&
		!slices.ContainsFunc(charges, first.misses)
	for request, at := range sent {
		f.open = append(f.open, request+", sent "+age(at))
		outcomes.Add(model.Unanswered)
	}
	slices.Sort(f.open)
	switch {
	case taken != "":
		return f, fmt.Errorf("%s was taken back already, %s", id, age(taken))
	case err != nil:
		return f, err
	case first.Action == "":
		return f, fmt.Errorf("there is no action %s in %s: fire prints the id as the last word of its summary%s",
			safetext.Clean(strconv.Quote(id)), a.path, a.latest())
	case last.Action == "" && first.Change != "":
		return f, fmt.Errorf("%s cannot be taken back: the program ended before it knew whether it had changed the key (%s, %s): "+
			"look at the key with ratescope peek", id, first.Change, age(first.At))
	case last.Action == "" && running(first.Host, first.PID):
		return f, fmt.Errorf("%s is not over: process %d, which fires it, still runs: stop it first (x on its screen, ctrl+c, or kill %d)",
			id, first.PID, first.PID)
	case last.Action == "":
		f.last = first
		f.last.Outcomes = &outcomes
	}
	return f, nil
}

// latest returns a clause with the latest action that is not taken back, for a person whose program was killed before it
// printed the id; "" where there is none.
func (a *audit) latest() string {
	var list []entry
	err := a.each(`"`+begun+`"`, func(e *entry) {
		if e.Outcome == begun {
			list = append(list, entry{Action: e.Action, Server: e.Server, At: e.At})
		}
	})
	err = cmp.Or(err, a.each(`"`+undone+`"`, func(e *entry) {
		list = slices.DeleteFunc(list, func(b entry) bool { return e.Outcome == undone && e.Error == "" && b.Action == e.Action })
	}))
	if err != nil || len(list) == 0 {
		return ""
	}
	newest := slices.MaxFunc(list, func(x, y entry) int { return cmp.Compare(x.At, y.At) }) // all times have the same length
	return fmt.Sprintf("; the latest that is not taken back is %s, fired at %s %s", newest.Action, newest.Server, age(newest.At))
}

// running reports whether a process of a host runs and may still fire: it is of this machine, and of this
// program, not of another one that got its number.
func running(host string, pid int) bool {
	if here, err := os.Hostname(); err == nil && host != "" && host != here {
		return false
	}
	process, err := os.FindProcess(pid)
	if pid <= 0 || err != nil || process.Signal(syscall.Signal(0)) != nil {
		return false
	}
	own, err := os.Executable()
	program, unknown := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err != nil || unknown != nil || filepath.Base(program) == filepath.Base(own)
}

// deniedCharged reports whether the limiter of t counts denied requests too; nil is one that is not known.
func deniedCharged(t *model.Target) bool {
	if t == nil {
		return false
	}
	w := foreign.For(t)
	return w != nil && w.Charged || w == nil && t.Convention.Denied == convention.Charged
}

// rival names who else has written to the key of an action while it was fired or since: ratescope, if the audit
// files have another action of that time that is not taken back, and else another program. remedy is a clause that
// says which action to take back first; "" where another program has written.
func (a *audit) rival(f *found) (who, remedy string) {
	key, err := json.Marshal(f.first.Key)
	if err != nil {
		return "another program", ""
	}
	rivals := map[string]string{} // the latest time of each
	_ = a.each(string(key), func(e *entry) {
		switch {
		case e.Action == f.first.Action || e.Server != f.first.Server || e.Database != f.first.Database || e.Key != f.first.Key:
		case e.Outcome == undone && e.Error == "":
			delete(rivals, e.Action)
		case e.At > f.first.At: // all times have the same length
			rivals[e.Action] = e.At
		}
	})
	if len(rivals) == 0 {
		return "another program", ""
	}
	newest := slices.MaxFunc(slices.Collect(maps.Keys(rivals)), func(x, y string) int { return cmp.Compare(rivals[x], rivals[y]) })
	return "ratescope's action " + newest, "take that back first with ratescope undo " + newest
}

// maxSince is the size in bytes of the end of the audit file that is read.
const maxSince = 8 << 20

// Extract selects lines of an audit file, which holds everything that was fired from this
// machine, also at other servers and by other processes.
type Extract struct {
	Since  limiter.Instant       // by this machine's clock
	Server string                // as it is shown
	Shown  func(key string) bool // selects keys; lines of this process are always selected
	Mask   bool                  // replace the middle of keys
}

// AuditSince returns the selected lines of an audit file, without the contents of keys. A path of
// "" is the default file. It returns nil if no line is selected or the file cannot be read.
func AuditSince(path string, x Extract) (out []byte) {
	if path == "" {
		var err error
		if path, err = auditPath(); err != nil {
			return nil
		}
	}
	f, err := file.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxSince {
		_, _ = f.Seek(-maxSince, io.SeekEnd) // its first line is cut off and does not parse
	}
	_ = eachLine(f, "", func(e *entry) { // what was read before an error is returned
		if at, err := time.Parse(stamp, e.At); err != nil || limiter.InstantOf(at) < x.Since || !x.takes(e) {
			return
		}
		e.shorten(x.Mask)
		if text, err := json.Marshal(e); err == nil {
			out = append(append(out, text...), '\n')
		}
	})
	return out
}

// takes reports whether a line is selected: it is of this process, or of the server and a selected
// key. Lines about arming have no key.
func (x *Extract) takes(e *entry) bool {
	switch {
	case e.PID == os.Getpid():
		return true
	case e.Server != x.Server:
		return false
	case e.Key == "":
		return e.Outcome == armed || e.Outcome == disarmed
	}
	return x.Shown(e.name())
}

// shorten removes the contents of keys from a line and, with mask, the middle of their names.
func (e *entry) shorten(mask bool) {
	for _, list := range [...][]savedKey{e.Before, e.After} {
		for i := range list {
			list[i].Dump = nil
			if mask {
				list[i].Key = quoted(safetext.Mask(string(list[i].Key)))
			}
		}
	}
	if mask {
		e.Key, e.Error = safetext.Mask(e.Key), ""
	}
}

// KeyChanges returns the actions in the lines of an audit file that fired no request, in their order: a key was
// changed, or an earlier action was taken back. Their times are by the clock of the machine that wrote the lines.
// Lines that do not parse are skipped.
func KeyChanges(lines []byte) (list []record.Marker) {
	_ = eachLine(bytes.NewReader(lines), "", func(e *entry) { // nothing fails but a line that is too long
		at, err := time.Parse(stamp, e.At)
		if err != nil || e.Request != "" || e.Error != "" {
			return
		}
		d := record.Marker{At: limiter.InstantOf(at), Kind: record.MarkerAudit, Key: e.name()}
		switch {
		case e.Outcome == begun && e.Change != "":
			d.Text = "was changed from here: " + e.Change
		case e.Outcome == undone:
			d.Text = "has back what it held before an action from here"
		default:
			return
		}
		list = append(list, d)
	})
	return list
}
