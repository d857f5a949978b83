package fire

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/safetext"
)

// maxSince bounds, in bytes, how far from its end the audit file is looked at.
const maxSince = 8 << 20

// AuditSince returns the lines that were written to an audit file since an instant of this
// machine's clock, without what the keys held; with mask, without the middle of their names.
// "" is the default file. It returns nil where there are none, or the file cannot be read.
func AuditSince(path string, since limiter.Instant, mask bool) []byte {
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
		if at, err := time.Parse(stamp, e.At); err != nil || limiter.InstantOf(at) < since {
			continue
		}
		e.shorten(mask)
		if text, err := json.Marshal(e); err == nil {
			out.Write(append(text, '\n'))
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out.Bytes()
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
