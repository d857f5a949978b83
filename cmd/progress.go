package cmd

import (
	"fmt"
	"io"
	"strings"

	"ratescope/model"
	"ratescope/model/safetext"
)

// progressLine is a line on a terminal that is written over.
type progressLine struct {
	to    io.Writer
	shown string
}

// barCells is how wide the bar of the progress is.
const barCells = 24

// show writes how far the search for limiters is.
func (p *progressLine) show(b model.Batch) {
	text := fmt.Sprintf("looking for limiters: %d keys seen, %d found", b.Sweep.Scanned, len(b.Readings))
	if b.Sweep.Total > 0 {
		part := min(float64(b.Sweep.Scanned)/float64(b.Sweep.Total), 1)
		filled := int(part * barCells)
		text = fmt.Sprintf("[%s%s] %3.0f %% of %d keys, %d limiters", strings.Repeat("#", filled), strings.Repeat(".", barCells-filled), part*100, b.Sweep.Total, len(b.Readings))
	}
	p.print(text)
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
