package heat

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/format"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// view is the screen on the canvas that it is painted on.
type view struct {
	*widget.Canvas
	*Screen
}

func (v view) paint(r cell.Rect) {
	if len(v.rows) == 0 {
		session.PaintSearch(v.Canvas, r, v.Live())
		return
	}
	if v.what.on {
		v.paintWhatIf(r)
		v.paintLanes()
	} else {
		v.paintCursorText(r)
	}
	shown := v.rows[v.first:][:min(v.area.H/v.height, len(v.rows)-v.first)]
	for i, name := range v.rowNames(shown, v.names-3) {
		v.paintRow(i, &shown[i], name)
	}
	v.paintTimes()
	x := v.area.X + v.area.W - 1 - v.back
	v.Buffer.Tint(cell.Rect{X: x, Y: v.area.Y, W: 1, H: v.area.H}, v.Look.Selected)
	if v.what.on {
		v.Buffer.Tint(cell.Rect{X: x, Y: v.what.area.Y, W: 1, H: v.what.area.H}, v.Look.Selected)
	}
}

// paintCursorText names the key and the moment under the cursor, and what happened there.
func (v view) paintCursorText(r cell.Rect) {
	row := &v.rows[v.at]
	c := row.cells[len(row.cells)-1-min(v.back, len(row.cells)-1)]
	spans := []widget.Span{widget.Styled(v.rowName(row, 40), v.Look.Title), widget.Styled(" at ", v.Look.Dim), widget.Styled(format.Clock(v.moment()), v.Look.Text)}
	switch {
	case c.known:
		spans = append(spans, widget.Styled(fmt.Sprintf(" · %.0f %% used", 100*c.level), v.Look.Text))
	case c.arrivals:
		spans = append(spans, widget.Styled(" · requests, limit unknown", v.Look.Unknown))
	case !c.watched:
		spans = append(spans, widget.Styled(" · not watched", v.Look.Unknown))
	}
	if c.denied {
		spans = append(spans, widget.Styled(" · denied", v.Look.Denied))
	}
	x := v.Spans(r.X+1, r.Y, r.X+r.W, spans...)
	scale := []widget.Span{widget.Styled("0 ", v.Look.Dim)}
	for _, level := range []float32{0.1, 0.3, 0.5, 0.7, 0.85, 1} {
		glyph, st := v.shape(heat{known: true, watched: true, level: level, arrivals: true})
		scale = append(scale, widget.Styled(string(glyph)+string(glyph), st))
	}
	glyph, st := v.shape(heat{denied: true, watched: true})
	scale = append(scale, widget.Styled(" 100 %  ", v.Look.Dim), widget.Styled(string(glyph)+string(glyph), st), widget.Styled(" denied", v.Look.Dim))
	if w := widget.Width(scale...); x+w+3 < r.X+r.W {
		v.Spans(r.X+r.W-w-1, r.Y, r.X+r.W, scale...)
	}
}

// rowName is the key of a row; of several what their names begin with, and how many there are.
func (v view) rowName(r *row, columns int) string {
	first := v.Name(r.keys[0].Reading.Key)
	if len(r.keys) == 1 {
		return v.ShortName(r.keys[0].Reading.Key, columns)
	}
	if r.prefix != "" {
		first = v.Name(r.prefix)
	}
	count := fmt.Sprintf(" · %s keys", format.Thousands(int64(len(r.keys))))
	if columns < roomForKeys {
		count = " ×" + format.Short(int64(len(r.keys)))
	}
	columns = max(columns-safetext.Width(count), 1)
	last := v.Name(r.keys[len(r.keys)-1].Reading.Key)
	if n := safetext.SharedWords(first, last); r.prefix == "" && n < min(len(first), len(last)) { // from which to which
		span := word(first[n:]) + safetext.Ellipsis + word(last[n:])
		return safetext.Shorten(format.First(columns, first[:n]+span, safetext.Ellipsis+span), columns, safetext.Ellipsis) + count
	}
	return safetext.Shorten(first+safetext.Ellipsis, columns, safetext.Ellipsis) + count
}

// roomForKeys is from how many columns on the number of keys is written with its unit.
const roomForKeys = 24

// word is what a text begins with, up to the first sign.
func word(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i > 0 {
		return text[:i]
	}
	return text
}

// rowNames are the names of several rows, of which those of single keys can be told apart.
func (v view) rowNames(list []row, columns int) []string {
	texts := make([]string, len(list))
	for i := range list {
		if r := &list[i]; len(r.keys) == 1 {
			texts[i] = v.Name(r.keys[0].Reading.Key)
		} else {
			texts[i] = v.rowName(r, columns)
		}
	}
	return v.Families().Distinct(texts, columns, safetext.Ellipsis)
}

func (v view) paintRow(i int, r *row, name string) {
	y, st := v.area.Y+i*v.height, v.Look.Text
	mark, ms := v.Mark(r.keys[0], v.Look)
	if v.first+i == v.at {
		v.Buffer.Text(v.area.X-v.names-1, y, v.area.X, v.Look.SelMark, v.Look.Accent)
		st = v.Look.Title
	}
	v.Spans(v.area.X-v.names, y, v.area.X-1, widget.Styled(mark+" ", ms), widget.Styled(name, st))
	for x, c := range r.cells {
		if glyph, st := v.shape(c); glyph != ' ' {
			for line := range v.height {
				v.Buffer.Set(v.area.X+x, y+line, glyph, st)
			}
		}
	}
	if v.first+i == v.at {
		v.Buffer.Ground(cell.Rect{X: v.area.X - v.names - 1, Y: y, W: v.area.W + v.names + 1, H: v.height}, v.Look.Selected)
	}
}

// shape is how a cell is drawn: shade and colour by how much of the limit was used, a shape
// of its own where something was denied.
func (v view) shape(c heat) (rune, themes.Style) {
	l := &v.Look
	switch {
	case c.denied:
		return l.Cross, l.Denied.On(l.DeniedGround)
	case c.known && c.level > 0:
		shades := l.Shade
		st := l.Fill(float64(c.level))
		if c.level < 0.6 {
			st = themes.Style{Fg: l.Fine}
		}
		return shades[min(int(c.level*float32(len(shades))), len(shades)-1)], st
	case c.arrivals && !c.known: // how full the key is, is not known: no colour of the scale
		return l.Shade[0], l.Unknown
	case c.arrivals:
		return l.Shade[0], l.Admitted
	case c.watched:
		return l.Room, l.Faint
	}
	return ' ', l.Faint
}

// paintTimes labels the axis of time.
func (v view) paintTimes() {
	y, d := v.area.Y+v.area.H, steps[v.step]
	right := v.area.X + v.area.W
	v.Buffer.Right(v.area.X, y, right, "now", v.Look.Text)
	if v.Paused() {
		v.Buffer.Right(v.area.X, y, right, format.Clock(v.At()), v.Look.Text)
	}
	for n := 20; n < v.area.W-4; n += 20 {
		text := "-" + format.Length(time.Duration(n)*d)
		v.Buffer.Text(right-n-len(text)/2, y, right-9, text, v.Look.Dim)
	}
	v.Buffer.Text(v.area.X-v.names, y, v.area.X, format.First(v.names-2, format.Plural(len(v.keys), "key")+" · "+v.SortText(), format.Plural(len(v.keys), "key")), v.Look.Dim)
}
