package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed/fire"
	"ratescope/feed/replay"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui"
	"ratescope/tui/state"
)

// markedFile is the file with the markers of a recording or a capsule, beside it.
type markedFile struct {
	name string
	was  []byte // its contents when it was last read or written
}

// readMarkers returns the file with the markers of a recording, which need not exist, and the markers.
// The error is one sentence.
func readMarkers(recording string) (*markedFile, []record.Marker, error) {
	f := &markedFile{name: recording + record.MarkersExtension}
	if _, err := os.Lstat(f.name); errors.Is(err, fs.ErrNotExist) {
		return f, nil, nil
	}
	in, err := file.Open(f.name)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, record.MaxMarkersFile+1))
	if err == nil && len(content) > record.MaxMarkersFile {
		err = fmt.Errorf("it has more than %d bytes", record.MaxMarkersFile)
	}
	var list []record.Marker
	if err == nil {
		list, err = record.DecodeMarkers(content)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the markers in %s cannot be read: %w; move the file away to replay without them", safetext.Clean(f.name),
			err)
	}
	f.was = content
	return f, list, nil
}

// keep writes the markers of the list to the file. The error is one sentence.
func (f *markedFile) keep(list []record.Marker) error {
	content, err := record.EncodeMarkers(list)
	if err == nil {
		err = file.Replace(f.name, f.was, content)
	}
	if err == nil {
		f.was = content
	}
	return err
}

// markers returns the markers of a recording for the screen; name is its file.
func (p *program) markers(name string, recording *record.File) (state.MarkerOptions, error) {
	f, set, err := readMarkers(name)
	if err != nil {
		return state.MarkerOptions{}, err
	}
	return state.MarkerOptions{Set: set, Keep: f.keep, Happened: func(ctx context.Context) ([]record.Marker, error) {
		return happened(ctx, name, recording)
	}}, nil
}

// happened returns the events of a recording: those of its boards and, of a capsule, also its alerts and
// audit lines.
func happened(ctx context.Context, name string, recording *record.File) ([]record.Marker, error) {
	list, err := replay.Happened(ctx, recording, tui.EventText)
	if err != nil {
		return nil, fmt.Errorf("what happened in %s is not known: %w", safetext.Clean(name), err)
	}
	list = append(list, aside(name, recording)...)
	record.SortMarkers(list)
	return list, nil
}

// aside returns the alerts and audit lines of a capsule within the time of its recording; nil for
// another file.
func aside(name string, recording *record.File) (list []record.Marker) {
	f, err := file.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 4)
	info, err := f.Stat()
	if n, _ := f.ReadAt(head, 0); err != nil || !report.RecognizeCapsule(head[:n]) {
		return nil
	}
	add := func(m record.Marker) {
		if m.At >= recording.Begin && m.At <= recording.End {
			list = append(list, m)
		}
	}
	alerts, _ := report.CapsuleLines(f, info.Size(), report.CapsuleAlerts) // of what cannot be read, the recording still tells
	for line := range bytes.Lines(alerts) {
		var a report.Alert
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		m := record.Marker{At: limiter.Instant(a.At * 1000), Kind: record.MarkerAlert,
			Text: fmt.Sprintf("alert %s (%s) is %s", a.Alert, a.Severity, a.State)}
		if a.Key != nil {
			m.Key = string(*a.Key)
		}
		add(m)
	}
	audit, _ := report.CapsuleLines(f, info.Size(), report.CapsuleAudit)
	for _, d := range fire.KeyChanges(audit) {
		add(record.Marker{At: d.At.Add(recording.Offset), Kind: record.MarkerAudit, Key: d.Key, Text: d.Text})
	}
	return list
}

// printEvents prints the events and markers of a recording, of one key or of all.
func printEvents(p *program, c *cobra.Command, name string, recording *record.File, f replayFlags) error {
	written, err := report.ReadFormat(f.write)
	if err != nil {
		return usageError{Err: err}
	}
	_, list, err := readMarkers(name)
	if err != nil {
		return err
	}
	found, err := happened(c.Context(), name, recording)
	if err != nil {
		return err
	}
	list = append(list, found...)
	record.SortMarkers(list)
	if f.key != "" {
		list = slices.DeleteFunc(list, func(m record.Marker) bool { return m.Key != f.key })
	}
	return report.WriteEvents(c.OutOrStdout(), written, recording.Header.Server.Target, list, p.names())
}

// exportEvents writes the events of a server to a new file in the working folder.
func (p *program) exportEvents(server string, list []record.Marker, f report.Format) (string, error) {
	return report.ExportEvents(".", limiter.InstantOf(time.Now()), f, server, list, p.names())
}
