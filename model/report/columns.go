package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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

// dash stands for what is not known.
const dash = "–"

// number prints a pointer of Key.
func number(n *int64) string {
	if n == nil {
		return dash
	}
	return strconv.FormatInt(*n, 10)
}

// wait prints a time of Key in milliseconds; zero and below have words of their own.
func wait(ms *int64, zero, negative string) string {
	switch {
	case ms == nil:
		return dash
	case *ms < 0:
		return negative
	case *ms == 0:
		return zero
	}
	return span(time.Duration(*ms) * time.Millisecond)
}

// span prints a time in the largest unit that leaves two or three digits to read.
// It rounds up, as the milliseconds were.
func span(d time.Duration) string {
	ceil := func(unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ceil(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", ceil(10*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", ceil(100*time.Millisecond).Seconds())
	case d < time.Hour:
		d = ceil(time.Second)
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = ceil(time.Minute)
		return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
	}
	d = ceil(time.Hour)
	return fmt.Sprintf("%d d %02d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// each prints the length of a window: 60000 as "1 m".
func each(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprintf("%d %s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d ms", ms)
}
