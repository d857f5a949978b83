package fire

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/safetext"
)

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
func AuditSince(path string, x Extract) []byte {
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
		_, _ = f.Seek(info.Size()-maxSince, io.SeekStart) // its first line is cut off and does not parse
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSince))
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	for line := range bytes.Lines(content) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		if at, err := time.Parse(stamp, e.At); err != nil || limiter.InstantOf(at) < x.Since || !x.takes(&e) {
			continue
		}
		e.shorten(x.Mask)
		if text, err := json.Marshal(e); err == nil {
			out.Write(append(text, '\n'))
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out.Bytes()
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
