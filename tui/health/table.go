package health

import (
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// table draws rows of a name and right-aligned figures below their titles; without titles
// there is no heading.
func (v *View) table(in cell.Rect, titles []string, rows [][]widget.Span) {
	if in.H == 0 || in.W < 10 || len(rows) == 0 {
		return
	}
	if len(titles) > 0 {
		head := make([]widget.Span, len(titles))
		for i, title := range titles {
			head[i] = widget.Styled(title, v.Canvas.Look.Dim)
		}
		rows = append([][]widget.Span{head}, rows...)
	}
	figure := figureWidth(in.W)
	name := max(in.W-(len(rows[0])-1)*figure, 1)
	for i, row := range rows[:min(len(rows), in.H)] {
		y := in.Y + i
		v.Canvas.Buffer.Text(in.X, y, in.X+name, safetext.Shorten(row[0].Text, name-1, safetext.Ellipsis), row[0].Style)
		for n, s := range row[1:] {
			x := in.X + name + n*figure
			v.Canvas.Buffer.Right(x, y, min(x+figure, in.X+in.W), s.Text, s.Style)
		}
	}
}

// figureWidth is the room of a figure in a table of that width.
func figureWidth(width int) int {
	if width < 60 {
		return 7
	}
	return 9
}
