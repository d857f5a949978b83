package health

import (
	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"ratescope/limiter"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// rendered is a table as text, and what it was rendered for.
type rendered struct {
	at        limiter.Instant
	w, rows   int
	theme     string
	view      string
	generated bool
}

// table draws rows of a name and right-aligned figures below their titles; without titles
// there is no heading. lipgloss lays it out once for each look at the server.
func (v *View) table(label string, in cell.Rect, titles []string, rows [][]widget.Span) {
	if in.H == 0 || in.W < 10 || len(rows) == 0 {
		return
	}
	p := v.plots()
	kept := p.tables[label]
	if now := (rendered{at: v.Health.At, w: in.W, rows: len(rows), theme: v.Canvas.Look.Name, view: kept.view, generated: true}); kept != now {
		now.view = v.render(in.W, titles, rows)
		p.tables[label], kept = now, now
	}
	v.Canvas.Buffer.Place(in, kept.view)
}

// figureWidth is the room of a figure in a table of that width.
func figureWidth(width int) int {
	if width < 60 {
		return 7
	}
	return 9
}

func (v *View) render(width int, titles []string, rows [][]widget.Span) string {
	figures := len(rows[0]) - 1
	name := max(width-figures*figureWidth(width), 1)
	t := table.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).BorderRow(false).Wrap(false)
	if len(titles) > 0 {
		t.Headers(titles...)
	}
	for _, row := range rows {
		texts := make([]string, len(row))
		for i, s := range row {
			texts[i] = s.Text
		}
		texts[0] = safetext.Shorten(texts[0], name-1, safetext.Ellipsis)
		t.Row(texts...)
	}
	return t.StyleFunc(func(row, col int) lipgloss.Style {
		st := widget.Lip(v.Canvas.Look.Dim)
		if row != table.HeaderRow && row < len(rows) {
			st = widget.Lip(rows[row][col].Style)
		}
		if col == 0 {
			return st.Width(name)
		}
		return st.Width(figureWidth(width)).Align(lipgloss.Right)
	}).String()
}
