package report_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/tui/tuitest"
)

// made returns a capsule of a minute of traffic, and the board at its end.
func made(t *testing.T, edit func(*report.Capsule)) ([]byte, *model.Board) {
	t.Helper()
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed := tuitest.NewFeed(begin)
	tail, board := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 1<<20), &model.Board{}
	for passed := time.Duration(0); passed <= time.Minute; passed += tuitest.Refresh {
		b := feed.Advance(begin.Add(passed))
		board.Apply(b)
		if err := tail.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	c := report.Capsule{
		By: "test", Made: begin, Begin: tail.Begin(), Board: board, Recording: tail, Text: "the ````picture", SVG: "<svg/>", Config: []byte("rules: []\n"),
		Events: []record.Marker{{At: 5000, Kind: record.MarkerEvent, Key: "a`|\nb", Text: "is *throttled*"}}, Concerns: []string{"memory 99% full: it evicts"},
		Alerts: []report.Alert{{Alert: "full", State: report.Firing, Severity: "page", Text: "it is full"}},
	}
	if edit != nil {
		edit(&c)
	}
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), board
}

// TestCutIsSaid: a capsule that lacks what did not fit in memory says so.
func TestCutIsSaid(t *testing.T) {
	for _, cut := range []bool{false, true} {
		file, _ := made(t, func(c *report.Capsule) { c.Cut = cut })
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := z.Open("summary.md")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || strings.Contains(string(text), "more than is kept in memory") != cut {
			t.Errorf("cut %v: %v\n%.300s", cut, err, text)
		}
	}
}

// TestCapsule is a zip file with the recording in it, which is read in place.
func TestCapsule(t *testing.T) {
	file, board := made(t, nil)
	if !report.RecognizeCapsule(file) || report.RecognizeCapsule([]byte("PK")) {
		t.Error("it is not told from other files")
	}
	in, err := report.CapsuleRecording(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(context.Background(), in)
	if err != nil || f.Damage != nil || f.End != board.At {
		t.Fatalf("the recording is %+v, %v; want one that ends at %v", f, err, board.At)
	}
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"summary.md": "redis://prod-eu-1:6379/0", "picture.svg": "<svg/>", "events.jsonl": `"at_ms":5`, "alerts.jsonl": `"state":"firing"`,
		"keys.json": `"utilization"`, "health.json": `"measures"`, "config.yaml": "rules: []",
	} {
		f, err := z.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if content, err := io.ReadAll(f); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s has no %q, %v:\n%.400s", name, want, err, content)
		}
	}
	if _, err := z.Open("audit.jsonl"); err == nil {
		t.Error("there is a file of nothing")
	}
	f2, err := z.Open("summary.md")
	if err != nil {
		t.Fatal(err)
	}
	summary, _ := io.ReadAll(f2)
	for _, want := range []string{"`a'¦\\nb`", `is \*throttled\*`, "**memory 99% full", "picture.svg"} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
}

// TestHostileCapsules: what is no capsule, was cut off, or has a directory made to fill the
// memory is an error, and nothing panics.
func TestHostileCapsules(t *testing.T) {
	whole, _ := made(t, nil)
	open := func(file []byte) error {
		in, err := report.CapsuleRecording(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			_, err = record.Open(context.Background(), in)
		}
		return err
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/300 {
		if open(whole[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are taken for a capsule", n, len(whole))
		}
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/500 {
		broken := bytes.Clone(whole)
		broken[n] ^= 0xff
		_ = open(broken)
	}
	var many bytes.Buffer
	z := zip.NewWriter(&many)
	for i := range 5000 {
		if _, err := z.Create(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil || open(many.Bytes()) == nil {
		t.Errorf("5,000 files are taken for a capsule, or %v", err)
	}
	var packed bytes.Buffer
	z = zip.NewWriter(&packed)
	to, err := z.Create("recording.jsonl.gz")
	if err == nil {
		_, err = to.Write(make([]byte, 1<<20))
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if err := open(packed.Bytes()); err == nil || !strings.Contains(err.Error(), "unpack it") {
		t.Errorf("a recording that was compressed again: %v", err)
	}
	wide := bytes.Clone(whole)
	at := bytes.LastIndex(wide, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(wide[at+12:], 0xffffffff)
	if open(wide) == nil {
		t.Error("a directory of 4 GB is taken for a capsule's")
	}
}

// FuzzCapsule looks for the recording in a zip file from a stranger: it lies inside the file.
func FuzzCapsule(f *testing.F) {
	var whole bytes.Buffer
	c := report.Capsule{Board: &model.Board{}, Recording: bytes.NewBufferString("a recording")}
	if err := c.Write(&whole); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := report.CapsuleRecording(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size() || n > int64(len(content)) {
			t.Errorf("a file of %d bytes has a recording of %d, of which %d can be read: %v", len(content), r.Size(), n, err)
		}
	})
}
