package fire

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/safetext"
)

// maxSince bounds, in bytes, how far from its end the audit file is looked at.
const maxSince = 8 << 20

// Extract says which lines of an audit file are of interest. The file is of everything that was
// fired from this machine, at other servers and by other sessions too.
type Extract struct {
	Since  limiter.Instant       // by this machine's clock
	Server string                // as it is shown
	Shown  func(key string) bool // whether a key is of interest; lines of this process are in any case
	Mask   bool                  // leave out the middle of the names
}

// AuditSince returns lines of an audit file, without what the keys held. "" is the default file.
// It returns nil where there are none, or the file cannot be read.
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

// takes reports whether a line is of this process, or of this server and a key of interest. Lines
// about the arming of the server name no key.
func (x *Extract) takes(e *entry) bool {
	switch {
	case e.PID == os.Getpid():
		return true
	case e.Server != x.Server:
		return false
	case e.Key == "":
		return e.Outcome == armed || e.Outcome == disarmed
	}
	key := e.Key
	if e.KeyQuoted {
		if bare, err := strconv.Unquote(key); err == nil {
			key = bare
		}
	}
	return x.Shown(key)
}

// shorten leaves out what the keys held, and the middle of their names where so said.
func (e *entry) shorten(mask bool) {
	for _, list := range [...][]savedKey{e.Before, e.After} {
		for i := range list {
			list[i].Dump = nil
			if mask {
				list[i].Key = safetext.Mask(list[i].Key)
			}
		}
	}
	if mask {
		e.Key, e.Error = safetext.Mask(e.Key), ""
	}
}
