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
	if err := WriteJSON(&keys, snapshot); err != nil {
		return err
	}
	health, err := record.HealthJSON(&c.Board.Health, c.Names.Mask)
	if err != nil {
		return fmt.Errorf("the health of the server cannot be written down: %w", err)
	}
	events, err := lines(collect.Map(c.Events, func(m record.Marker) Event { return EventOf(m, c.Names) }))
	if err != nil {
		return err
	}
	alerts, err := lines(c.Alerts)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{summaryName, c.summary(snapshot)}, {pictureName, []byte(c.SVG)}, {"events.jsonl", events}, {CapsuleAlerts, alerts},
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

// lines writes a list as JSON, one object a line.
func lines[T any](list []T) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, v := range list {
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
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
	files, err := openCapsule(r, size)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name != recordingName {
			continue
		}
		offset, err := f.DataOffset()
		length := int64(f.CompressedSize64)
		switch {
		case f.Method != zip.Store:
			return nil, errors.New("the recording in this capsule was compressed once more: unpack it, and give the " + recordingName +
				" that was in it")
		case err != nil || length < 0 || offset < 0 || offset > size || length > size-offset:
			return nil, errNotCapsule
		}
		return io.NewSectionReader(r, offset, length), nil
	}
	return nil, errNotCapsule
}

// maxLines bounds, in bytes, what CapsuleLines returns.
const maxLines = 16 << 20

// CapsuleLines returns the lines of a file in a capsule of so many bytes, CapsuleAlerts or CapsuleAudit; nil
// where the capsule has none, or more than 16 MiB of them.
func CapsuleLines(r io.ReaderAt, size int64, name string) ([]byte, error) {
	files, err := openCapsule(r, size)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name != name || f.UncompressedSize64 > maxLines {
			continue
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
	return nil, nil
}

// openCapsule reads the directory of a capsule.
func openCapsule(r io.ReaderAt, size int64) ([]*zip.File, error) {
	if err := bounded(r, size); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, errNotCapsule
	}
	return z.File, nil
}

// bounded returns an error for a zip file whose directory is larger than a capsule's: to read
// that would take memory in proportion. It looks for the end of the directory as archive/zip
// does, in the last 64 KiB and the longest comment.
func bounded(r io.ReaderAt, size int64) error {
	const end = 22 // bytes of the end of the directory
	tail := make([]byte, min(size, 65<<10))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return errNotCapsule
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < end {
		return errNotCapsule
	}
	number := binary.LittleEndian.Uint32
	files, length, offset := binary.LittleEndian.Uint16(tail[at+10:]), number(tail[at+12:]), number(tail[at+16:])
	if files > maxFiles || length > maxDirectory || int64(offset) > size { // zip64 has the largest values here
		return errNotCapsule
	}
	return nil
}

// Bounds of the summary: it is to be read.
const (
	mostFull   = 20
	mostEvents = 60
	mostAlerts = 40
)

// summary returns the capsule in Markdown.
func (c *Capsule) summary(s Snapshot) []byte {
	var b strings.Builder
	server, end := &c.Board.Server, c.Board.At
	t := c.Board.Totals()
	fmt.Fprintf(&b, "# Rate limits on %s\n\n", CodeSpan(server.Target))
	fmt.Fprintf(&b, "From %s to %s, %s, by the server's clock. Made by %s.\n\n", moment(c.Begin), moment(end),
		format.Elapsed(end.Sub(c.Begin)), PlainMarkdown(c.By))
	if c.Cut {
		b.WriteString("What came before that is left out: it was more than is kept in memory, and \"ratescope record\" keeps all of it.\n\n")
	}
	fmt.Fprintf(&b, "At the end **%d of %d keys denied requests**, %d were near their limit", t.Throttled, t.Keys, t.Near)
	if t.Broken > 0 {
		fmt.Fprintf(&b, ", %d could not be read", t.Broken)
	}
	b.WriteString(".\n")
	if server.Err != "" {
		fmt.Fprintf(&b, "\nThe server was away: %s\n", PlainMarkdown(server.Err))
	}
	if !c.Board.Sweep.Complete() {
		b.WriteString("\nNot every key of the server had been looked at: there may be more.\n")
	}
	if c.SVG != "" {
		fmt.Fprintf(&b, "\n![The dashboard at the end](%s)\n", pictureName)
	}
	c.keys(&b, s)
	c.happened(&b)
	c.health(&b)
	if n := strings.Count(string(c.Audit), "\n"); n > 0 {
		fmt.Fprintf(&b, "\n## Fired from here\n\n%d audit lines of this time are in audit.jsonl. In the recording the requests are marked.\n", n)
	}
	if c.Text != "" {
		fmt.Fprintf(&b, "\n## The picture as text\n\n````text\n%s\n````\n", strings.TrimRight(c.Text, "\n"))
	}
	b.WriteString("\n## To look further\n\n    ratescope replay FILE    # the same screens again: pause, go back\n" +
		"    ratescope lab FILE       # what another algorithm would have done\n\nFILE is the capsule itself.\n")
	return []byte(b.String())
}

// keys lists the fullest keys.
func (c *Capsule) keys(b *strings.Builder, s Snapshot) {
	full := slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool {
		return k.Utilization == nil || k.Evidence == model.Likely.String()
	})
	slices.SortStableFunc(full, func(x, y Key) int { return cmp.Compare(*y.Utilization, *x.Utilization) })
	b.WriteString("\n## The fullest keys\n\n")
	if len(full) == 0 {
		b.WriteString("No key with a known limit was there.\n")
		return
	}
	b.WriteString("| key | algorithm | used | limit | full | next admission |\n|---|---|---|---|---|---|\n")
	for _, k := range full[:min(len(full), mostFull)] {
		r := k.Row()
		fmt.Fprintf(b, "| %s | %s | %s | %s in %s | %s | %s |\n", CodeSpan(string(k.Key)), r[1], r[2], r[3], r[4], r[5], r[7])
	}
	if more := len(full) - mostFull; more > 0 {
		fmt.Fprintf(b, "\n%d more are in keys.json.\n", more)
	}
}

// happened lists the events and the alerts.
func (c *Capsule) happened(b *strings.Builder) {
	b.WriteString("\n## What happened\n\n")
	if len(c.Events) == 0 {
		b.WriteString("Nothing: no key came close to its limit.\n")
	}
	for _, e := range c.Events[max(0, len(c.Events)-mostEvents):] {
		subject := ""
		if e.Key != "" {
			subject = CodeSpan(string(c.Names.Name(e.Key))) + " "
		}
		fmt.Fprintf(b, "- %s %s%s\n", clock(e.At), subject, PlainMarkdown(e.Text))
	}
	if more := len(c.Events) - mostEvents; more > 0 {
		fmt.Fprintf(b, "\n%d earlier ones are in events.jsonl.\n", more)
	}
	if len(c.Alerts) == 0 {
		return
	}
	b.WriteString("\n## Alerts\n\n")
	for _, a := range c.Alerts[max(0, len(c.Alerts)-mostAlerts):] {
		fmt.Fprintf(b, "- %s **%s** (%s) %s\n", clock(limiter.Instant(a.At*1000)), a.State, PlainMarkdown(a.Severity),
			PlainMarkdown(string(a.Text)))
	}
}

// health says how the server did.
func (c *Capsule) health(b *strings.Builder) {
	h, s := &c.Board.Health, &c.Board.Server
	b.WriteString("\n## Redis\n\n")
	if s.Version != "" {
		fmt.Fprintf(b, "- version %s, %s\n", PlainMarkdown(s.Version), PlainMarkdown(cmp.Or(s.Role, "role unknown")))
	}
	if s.RTT > 0 {
		fmt.Fprintf(b, "- round trip %s, its clock %s from this machine's\n", format.Latency(s.RTT), format.Signed(s.Offset))
	}
	for _, m := range []struct {
		format string
		model.Measure
	}{
		{"- %.0f commands a second\n", h.Ops}, {"- %.2f cores of CPU\n", h.CPU}, {"- %.0f bytes of memory\n", h.MemoryUsed},
		{"- %.1f keys a second evicted\n", h.Evicted},
	} {
		if m.Known {
			fmt.Fprintf(b, m.format, m.V)
		}
	}
	for _, e := range h.Errors {
		fmt.Fprintf(b, "- %s: %d times, %.1f a second at the end\n", CodeSpan(e.Name), e.Total, e.Rate)
	}
	for _, concern := range c.Concerns {
		fmt.Fprintf(b, "- **%s**\n", PlainMarkdown(concern))
	}
	for _, missing := range h.Missing {
		fmt.Fprintf(b, "- not known: %s\n", PlainMarkdown(missing))
	}
}

func moment(at limiter.Instant) string { return at.Time().UTC().Format("2006-01-02 15:04:05 UTC") }

func clock(at limiter.Instant) string { return at.Time().UTC().Format("15:04:05.000") }
