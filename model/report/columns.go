package report

import (
	"strconv"
	"strings"
	"time"

	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Columns is text in columns. Cells are clean text; the columns are as wide as their
// widest cell, in terminal cells.
type Columns struct {
	heads []string
	right []bool
	rows  [][]string
}

// NewColumns names the columns. A name that begins with ">" is of a column whose
// cells stand at the right edge, as numbers do.
func NewColumns(heads ...string) *Columns {
	c := &Columns{right: make([]bool, len(heads))}
	for i, h := range heads {
		h, c.right[i] = strings.CutPrefix(h, ">")
		c.heads = append(c.heads, h)
	}
	return c
}

// Add appends one row; cells that are missing at its end are empty.
func (c *Columns) Add(cells ...string) { c.rows = append(c.rows, cells) }

// String lays the rows out under their heads, each line ended, none with blanks at
// its end.
func (c *Columns) String() string {
	widths := make([]int, len(c.heads))
	rows := append([][]string{c.heads}, c.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], safetext.Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			gap := strings.Repeat(" ", widths[i]-safetext.Width(cell))
			if c.right[i] {
				line.WriteString(gap + cell)
			} else {
				line.WriteString(cell + gap)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Dash stands for what is not known.
const Dash = "–"

// Number prints a pointer of Key.
func Number(n *int64) string {
	if n == nil {
		return Dash
	}
	return strconv.FormatInt(*n, 10)
}

// Wait prints a time of Key in milliseconds; zero and below have words of their own.
func Wait(ms *int64, zero, negative string) string {
	switch {
	case ms == nil:
		return Dash
	case *ms < 0:
		return negative
	case *ms == 0:
		return zero
	}
	return format.Spaced(time.Duration(*ms) * time.Millisecond)
}

// Each prints the length of a window: 60000 as "1 m".
func Each(ms int64) string { return format.Each(time.Duration(ms) * time.Millisecond) }
