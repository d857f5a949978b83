package state_test

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// inMemory is a recorder that writes nothing.
type inMemory struct{}

func (inMemory) Put(model.Batch) {}

func (inMemory) Close() (string, error) { return "12 s in a.jsonl.gz", nil }

// TestTheEndOfTheProgramSaysWhatWasRecorded: what a recording holds that is under way at the end is told, and nothing where
// there is none.
func TestTheEndOfTheProgramSaysWhatWasRecorded(t *testing.T) {
	app, err := shell.New(t.Context(), shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	boards, feed, at := watched(t)
	boards.Apply(feed.Advance(at))
	told := ""
	files := state.NewFiles(app, boards, state.FileOptions{
		Record: func() (state.Recorder, string, error) { return inMemory{}, "a.jsonl.gz", nil },
		Ended:  func(holds string) { told = holds },
	})
	if err := files.Close(); err != nil || told != "" {
		t.Fatalf("without a recording the end says %q (%v)", told, err)
	}
	files.ToggleRecording()().(shell.Then)()
	if err := files.Close(); err != nil || told != "12 s in a.jsonl.gz" {
		t.Errorf("the end of the program says %q (%v)", told, err)
	}
}

// TestDiskWaitsOutsideUpdate: an export that takes long holds no key up.
func TestDiskWaitsOutsideUpdate(t *testing.T) {
	began := make(chan struct{})
	o := tui.Options{Session: session.Options{Saving: state.FileOptions{Export: func(model.Batch) (string,
		error) {
		close(began)
		return "", context.Canceled
	}}}}
	s := tuitest.NewStage(t, 80, 24, o)
	s.Run(time.Second)
	_, cmd := s.App.Update(tea.KeyPressMsg{Code: 'e', Text: "e"})
	select {
	case <-began:
		t.Error("the file is written inside Update")
	default:
	}
	if cmd == nil {
		t.Fatal("nothing writes the file")
	}
}
