// Package capsule puts what is known about an incident into one file: the recording of the
// last minutes, what happened in them, the audit lines of what was fired, the health of the
// server, the configuration, and a summary with a picture for a person.
//
// # The file
//
// A capsule is a zip file, so that every machine can look into it:
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
// Nothing here reads a clock or a file. A capsule that is read is hostile input: of a zip file
// only the directory, the recording, the alerts and the audit lines are looked at, all bounded.
package capsule

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
)

// Content is what a capsule holds.
type Content struct {
	By        string    // the program and its version
	Made      time.Time // by this machine's clock
	Begin     limiter.Instant
	Cut       bool         // what came before Begin is left out because it is more than is kept in memory
	Board     *model.Board // as it stood when the capsule was made
	Recording io.WriterTo  // from Begin on
	Events    []Event      // oldest first
	Concerns  []string     // about the server, the worst first, one clause each
	Alerts    []report.Alert
	Audit     []byte // lines; nil for none
	Config    []byte // YAML without secrets; nil for none
	Text, SVG string // the picture
	Names     report.Options
}

// Event is something that happened. Key is "" for the server, and the name is as it may be
// shown.
type Event struct {
	At   limiter.Instant `json:"-"`
	When int64           `json:"at_ms"`
	Key  report.Text     `json:"key,omitempty"`
	Text string          `json:"text"`
}

// The names of the files in a capsule that are looked for.
const (
	summaryName   = "summary.md"
	pictureName   = "picture.svg"
	recordingName = "recording.jsonl.gz"

	AlertsName = "alerts.jsonl"
	AuditName  = "audit.jsonl"
)

// Write writes a capsule.
func Write(w io.Writer, c Content) error {
	z := zip.NewWriter(w)
	snapshot := report.SnapshotOf(c.Board.Batch(), c.Names)
	var keys bytes.Buffer
	if err := snapshot.JSON(&keys); err != nil {
		return err
	}
	health, err := record.HealthJSON(&c.Board.Health, c.Names.Mask)
	if err != nil {
		return fmt.Errorf("the health of the server cannot be written down: %w", err)
	}
	events, err := lines(c.Events)
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
		{summaryName, c.summary(snapshot)}, {pictureName, []byte(c.SVG)}, {"events.jsonl", events}, {AlertsName, alerts},
		{AuditName, c.Audit}, {"keys.json", keys.Bytes()}, {"health.json", health}, {"config.yaml", c.Config},
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
