package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// output is where a command prints and how.
type output struct {
	Out, Err io.Writer
	JSON     bool // one object instead of text
	Names    report.Options
}

func (o output) print(r fmt.Stringer) error {
	if o.JSON {
		return report.WriteJSON(o.Out, r)
	}
	_, err := io.WriteString(o.Out, r.String())
	return err
}

// lacks prints what could not be told although the server answered, one sentence a line. Where
// nothing could be read, that is the error of unread.
func (o output) lacks(batch model.Batch) {
	if len(batch.Readings) == 0 {
		return
	}
	for _, lack := range batch.Server.Lacks {
		fmt.Fprintln(o.Err, "ratescope: "+safetext.Sentence(lack))
	}
}

// exitError is an error with an exit code of its own.
type exitError struct {
	Code int
	Err  error
}

func (e exitError) Error() string { return e.Err.Error() }

func (e exitError) Unwrap() error { return e.Err }

// usage returns err as an error in how the program was called; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{exitUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// progressLine is a line on a terminal that is written over.
type progressLine struct {
	to    io.Writer
	plain bool // to is no terminal: a line every progressEvery
	shown string
	told  time.Time // when the latest line was written, or the first batch came
}

// progressEvery is the time between two lines of progress, and before the first, where they do not replace each other.
const progressEvery = 2 * time.Second

// show writes how far the search for limiters is.
func (p *progressLine) show(b model.Batch) {
	text := fmt.Sprintf("looking for limiters: %d keys seen, %d found", b.Sweep.Scanned, len(b.Readings))
	if b.Sweep.Total > 0 {
		part := min(float64(b.Sweep.Scanned)/float64(b.Sweep.Total), 1)
		text = fmt.Sprintf("looking for limiters: %.0f %% of %d keys, %d found", part*100, b.Sweep.Total, len(b.Readings))
	}
	switch {
	case !p.plain:
		p.print(text)
	case p.told.IsZero():
		p.told = b.Local
	case b.Local.Sub(p.told) >= progressEvery:
		p.told = b.Local
		fmt.Fprintln(p.to, "ratescope: "+text)
	}
}

// print writes a text over the one before.
func (p *progressLine) print(text string) {
	fmt.Fprint(p.to, "\r"+text+strings.Repeat(" ", max(0, safetext.Width(p.shown)-safetext.Width(text))))
	p.shown = text
}

// clear removes the line.
func (p *progressLine) clear() {
	if p.shown != "" {
		fmt.Fprint(p.to, "\r"+strings.Repeat(" ", safetext.Width(p.shown))+"\r")
	}
}
