package report

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
)

// Capsule is what is known about an incident, for one file: the recording of the last minutes, what happened
// in them, the audit lines of what was fired, the health of the server, the configuration, and a summary with
// a picture for a person. The file is a zip file, so that every machine can look into it:
//
//	summary.md          for a person, with picture.svg and the same picture as text
//	picture.svg         the dashboard as it was
//	events.jsonl        what happened, one object a line
//	alerts.jsonl        alerts of the configuration that began or ended
//	audit.jsonl         lines of the audit file of that time
//	keys.json           every limiter as it was, as "ratescope snapshot --json" has it
//	health.json         the server
//	config.yaml         the configuration as it was understood, without secrets
//	recording.jsonl.gz  stored as it is, so that it can be read in place
//
// A capsule that is read is hostile input: of a zip file only the directory, the recording, the alerts and the
// audit lines are looked at, all bounded.
type Capsule struct {
	By        string    // the program and its version
	Made      time.Time // by this machine's clock
	Begin     limiter.Instant
	Cut       bool            // what came before Begin is left out because it is more than is kept in memory
	Board     *model.Board    // as it stood when the capsule was made
	Recording io.WriterTo     // from Begin on
	Events    []record.Marker // oldest first
	Concerns  []string        // about the server, the worst first, one clause each
	Alerts    []Alert
	Audit     []byte // lines; nil for none
	Config    []byte // YAML without secrets; nil for none
	Text, SVG string // the picture
	Names     Options
}

// The names of the files in a capsule that are looked for.
const (
	summaryName   = "summary.md"
	pictureName   = "picture.svg"
	recordingName = "recording.jsonl.gz"

	CapsuleAlerts = "alerts.jsonl"
	CapsuleAudit  = "audit.jsonl"
)

// Write writes the file.
func (c *Capsule) Write(w io.Writer) error {
	z := zip.NewWriter(w)
	snapshot := SnapshotOf(c.Board.Batch(), c.Names)
	var keys bytes.Buffer
	_ = WriteJSON(&keys, snapshot) // a Buffer takes all
	health, err := record.HealthJSON(&c.Board.Health, c.Names.Mask)
	if err != nil {
		return fmt.Errorf("the health of the server cannot be written down: %w", err)
	}
	events := lines(collect.Map(c.Events, func(m record.Marker) Event { return EventOf(m, c.Names) }))
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{summaryName, c.summary(snapshot)}, {pictureName, []byte(c.SVG)}, {"events.jsonl", events}, {CapsuleAlerts, lines(c.Alerts)},
		{CapsuleAudit, c.Audit}, {"keys.json", keys.Bytes()}, {"health.json", health}, {"config.yaml", c.Config},
	} {
		if len(f.content) == 0 {
			continue
		}
		to, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: c.Made})
		if err == nil {
			_, err = to.Write(f.content)
		}
		if err != nil {
			return err
		}
	}
	to, err := z.CreateHeader(&zip.FileHeader{Name: recordingName, Method: zip.Store, Modified: c.Made})
	if err == nil {
		_, err = c.Recording.WriteTo(to)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// lines writes a list as JSON, one object a line. What is reported has no value that JSON lacks.
func lines[T any](list []T) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, v := range list {
		_ = e.Encode(v)
	}
	return b.Bytes()
}

// capsuleMagic begins a zip file that is not empty.
const capsuleMagic = "PK\x03\x04"

// RecognizeCapsule says whether the first bytes of a file may be those of a capsule.
func RecognizeCapsule(head []byte) bool { return bytes.HasPrefix(head, []byte(capsuleMagic)) }

// errNotCapsule is the error of another zip file, or of one that was cut off.
var errNotCapsule = errors.New("this is no capsule, or not a whole one: give a file that \"ratescope capsule\" wrote")

// Bounds of the directory of a zip file. A capsule has nine files in it.
const (
	maxFiles     = 100
	maxDirectory = 64 << 10 // bytes
)

// CapsuleRecording returns the recording in a capsule of so many bytes, to be read in place.
func CapsuleRecording(r io.ReaderAt, size int64) (*io.SectionReader, error) {
	f, err := inCapsule(r, size, recordingName)
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, errNotCapsule
	case f.Method != zip.Store:
		return nil, errors.New("the recording in this capsule was compressed once more: unpack it, and give the " + recordingName +
			" that was in it")
	}
	offset, err := f.DataOffset()
	if length := int64(f.CompressedSize64); err == nil && length >= 0 && offset >= 0 && offset <= size && length <= size-offset {
		return io.NewSectionReader(r, offset, length), nil
	}
	return nil, errNotCapsule
}

// maxLines bounds, in bytes, what CapsuleLines returns.
const maxLines = 16 << 20

// CapsuleLines returns the lines of a file in a capsule of so many bytes, CapsuleAlerts or CapsuleAudit; nil
// where the capsule has none, or more than 16 MiB of them.
func CapsuleLines(r io.ReaderAt, size int64, name string) ([]byte, error) {
	f, err := inCapsule(r, size, name)
	if err != nil || f == nil || f.UncompressedSize64 > maxLines {
		return nil, err
	}
	in, err := f.Open()
	if err != nil {
		return nil, errNotCapsule
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, maxLines))
	if err != nil {
		return nil, errNotCapsule
	}
	return content, nil
}

// inCapsule finds a file in a capsule by its name; nil where there is none. A zip file whose directory is larger than a capsule's
// is an error: to read that would take memory in proportion. The end of the directory is looked for as archive/zip does, in the
// last 64 KiB and the longest comment.
func inCapsule(r io.ReaderAt, size int64, name string) (*zip.File, error) {
	const end = 22 // bytes of the end of the directory
	tail := make([]byte, min(size, 65<<10))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return nil, errNotCapsule
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < end {
		return nil, errNotCapsule
	}
	number := binary.LittleEndian.Uint32
	files, length, offset := binary.LittleEndian.Uint16(tail[at+10:]), number(tail[at+12:]), number(tail[at+16:])
	if files > maxFiles || length > maxDirectory || int64(offset) > size { // zip64 has the largest values here
		return nil, errNotCapsule
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, errNotCapsule
	}
	if i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == name }); i >= 0 {
		return z.File[i], nil
	}
	return nil, nil
}

// Bounds of the summary: it is to be read.
const (
	mostFull   = 20
	mostEvents = 60
	mostAlerts = 40
)

func (c *Capsule) summary(s Snapshot) []byte {
	full := slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool {
		return k.Utilization == nil || k.Evidence == model.Likely.String()
	})
	slices.SortStableFunc(full, func(x, y Key) int { return cmp.Compare(*y.Utilization, *x.Utilization) })
	var b bytes.Buffer
	_ = pages().ExecuteTemplate(&b, "summary.md", map[string]any{
		"c": c, "lasted": format.Elapsed(c.Board.At.Sub(c.Begin)), "text": strings.TrimRight(c.Text, "\n"),
		"full": full[:min(len(full), mostFull)], "more": len(full) - mostFull,
		"events": c.Events[max(0, len(c.Events)-mostEvents):], "earlier": len(c.Events) - mostEvents,
		"alerts": c.Alerts[max(0, len(c.Alerts)-mostAlerts):], "audited": bytes.Count(c.Audit, []byte("\n")),
	})
	return b.Bytes()
}
