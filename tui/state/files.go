package state

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
)

// Recorder keeps batches in a file.
type Recorder interface {
	Put(model.Batch) // never blocks
	// Close ends the file and says what it holds.
	Close() (holds string, err error)
}

// FileOptions says what can be kept; what is nil cannot.
type FileOptions struct {
	// Record opens a recording.
	Record func() (r Recorder, name string, err error)
	// Keep gets every batch, for Capsule; it never blocks. Capsule saves what was kept together
	// with the board, which it may keep, and says what it holds.
	Keep    func(model.Batch)
	Capsule func(*model.Board) (holds string, err error)
	// Past returns the board as it stood at a moment, from what was kept; nil where that does not reach back so far.
	Past func(limiter.Instant) *model.Board
	// Export writes the keys of a batch to a file and returns its path.
	Export func(model.Batch) (path string, err error)
	// ExportRows does so with a row a key in a format.
	ExportRows func(b model.Batch, format report.Format) (path string, err error)
	// History writes what one key was and what came at it, second by second, in a format.
	History func(key string, format report.Format) (path string, err error)
	// Ended gets what a recording holds that was under way when the program ended; nil for none.
	Ended func(holds string)
	// ExportEvents writes what happened at a server, which is named, to a file in a format.
	ExportEvents func(server string, list []record.Marker, format report.Format) (path string, err error)
}

// Files are the files that are written from the screen. Make them with NewFiles. Not safe for
// concurrent use: everything but the commands that it returns runs on Bubble Tea's goroutine.
type Files struct {
	app      *shell.App
	boards   *Boards
	o        FileOptions
	recorder Recorder      // nil: nothing is being recorded
	fired    []model.Fired // since the last batch
}

// NewFiles returns files of what boards show. Their sentences appear in app.
func NewFiles(app *shell.App, boards *Boards, o FileOptions) *Files {
	return &Files{app: app, boards: boards, o: o}
}

// Put keeps a batch in the recording that is under way, and for a capsule.
func (f *Files) Put(b model.Batch) {
	b.Fired, f.fired = slices.Concat(b.Fired, f.fired), nil
	if f.recorder != nil {
		f.recorder.Put(b)
	}
	if f.o.Keep != nil {
		f.o.Keep(b)
	}
}

// mostFired bounds the requests that wait for a batch, which never comes while the server is silent.
const mostFired = 20_000

// Fired keeps a request that was fired with the next batch, so that a replay tells it from the others.
func (f *Files) Fired(one model.Fired) {
	if len(f.fired) < mostFired {
		f.fired = append(f.fired, one)
	}
}

// Recording reports whether a recording is under way.
func (f *Files) Recording() bool { return f.recorder != nil }

// Close ends the recording that is under way at the end of the program.
func (f *Files) Close() error {
	if f.recorder == nil {
		return nil
	}
	holds, err := f.recorder.Close()
	if err == nil && f.o.Ended != nil {
		f.o.Ended(holds)
	}
	return err
}

// account returns what came of a file by what it holds, in words that begin small.
func (f *Files) account(holds string, err error) tea.Msg {
	if err == nil {
		holds = strings.ToUpper(holds[:1]) + holds[1:] + "."
	}
	return f.app.Told(holds, err)
}

// export returns the command that exports to a file, and says its path with the working folder, in which it is.
func (f *Files) export(write func() (path string, err error)) tea.Cmd {
	return func() tea.Msg {
		path, err := write()
		return f.app.Told(strings.TrimSpace("Exported "+safetext.Clean(path)+" "+shell.Folder())+".", err)
	}
}

// ToggleRecording begins to keep what is seen, with what is on the board, or ends that. The
// file is opened and closed by a command.
func (f *Files) ToggleRecording() tea.Cmd {
	switch {
	case f.recorder != nil:
		r := f.recorder
		f.recorder = nil
		return func() tea.Msg { return f.account(r.Close()) }
	case f.o.Record == nil:
		return f.app.Warn("Nothing can be recorded here.")
	case !f.boards.Started:
		return f.app.Warn("There is nothing to record yet.")
	}
	return func() tea.Msg {
		r, name, err := f.o.Record()
		return shell.Then(func() tea.Cmd { return f.opened(r, name, err) })
	}
}

// opened begins to record into a file that was opened.
func (f *Files) opened(r Recorder, name string, err error) tea.Cmd {
	if err != nil {
		return f.app.Warn(err.Error())
	}
	f.recorder = r
	r.Put(f.boards.Live().Past())
	return f.app.Say(strings.TrimSpace("Recording "+safetext.Clean(name)+" "+shell.Folder()) +
		", from what is on the timelines on; F ends it.")
}

// NoCapsule says why no capsule can be saved; "" when it can.
func (f *Files) NoCapsule() string {
	switch {
	case f.boards.Replayed():
		return "A replay is of a file already: hand that on."
	case f.o.Capsule == nil:
		return "No capsule can be saved here."
	case !f.boards.Started:
		return "There is nothing to save yet."
	}
	return ""
}

// SaveCapsule saves the last minutes and what is known about them in one file. It is not called where NoCapsule says why not.
func (f *Files) SaveCapsule() tea.Cmd {
	board := f.boards.Freeze()
	f.app.Say("Saving a capsule…")
	return func() tea.Msg { return f.account(f.o.Capsule(board)) }
}

// ExportKeys writes the keys on the board to a file.
func (f *Files) ExportKeys() tea.Cmd {
	if f.o.Export == nil || f.boards.Board().At == 0 {
		return f.app.Warn("There is nothing to export yet.")
	}
	batch := f.boards.Board().Batch()
	return f.export(func() (string, error) { return f.o.Export(batch) })
}

// ExportRows writes keys as they are at the instant on screen to a file.
func (f *Files) ExportRows(keys []*model.Watched, format report.Format) tea.Cmd {
	batch := f.boards.Board().Batch()
	there := collect.Only(keys, func(k *model.Watched) bool { return !k.Gone })
	batch.At, batch.Readings = f.boards.At(), collect.Map(there, func(k *model.Watched) model.Reading { return k.Reading })
	return f.export(func() (string, error) { return f.o.ExportRows(batch, format) })
}

// ExportHistory writes what one key was and what came at it to a file.
func (f *Files) ExportHistory(key string, format report.Format) tea.Cmd {
	return f.export(func() (string, error) { return f.o.History(key, format) })
}

// ExportEvents writes what happened to a file.
func (f *Files) ExportEvents(list []record.Marker, format report.Format) tea.Cmd {
	if f.o.ExportEvents == nil {
		return f.app.Warn("Nothing can be exported here.")
	}
	server := f.boards.Board().Server.Target
	return f.export(func() (string, error) { return f.o.ExportEvents(server, list, format) })
}
