package widget

// Rows shares lines of the screen out among rows: few rows are taller. The zero Rows has rows of no height.
type Rows struct {
	Height int // of a row, in lines
	taller int // how many of the first rows have one line more
}

// Spread returns so many lines shared out among n rows of at most so many lines each. None is left over as long as no row
// is taller than that.
func Spread(lines, n, most int) Rows {
	r := Rows{Height: min(max(lines/max(n, 1), 1), most)}
	if r.Height < most {
		r.taller = max(lines-n*r.Height, 0)
	}
	return r
}

// Line returns the first line of row i.
func (r Rows) Line(i int) int { return i*r.Height + min(i, r.taller) }

// At returns the row of a line.
func (r Rows) At(line int) (i int) {
	for r.Line(i+1) <= line {
		i++
	}
	return i
}
