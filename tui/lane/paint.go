package lane

import (
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

// Heat is how a cell is drawn on a map: shade and colour by how much of the limit was used, a shape
// of its own where a request was denied.
func Heat(c Cell, l *chart.Look) (rune, themes.Style) {
	switch {
	case c.Denied:
		return l.Cross, l.Denied.On(l.DeniedGround)
	case c.Known && c.Level > 0:
		return level(l.Shade, c.Level), tone(c.Level, l)
	case c.Arrivals && !c.Known: // how full the key is, is not known: no colour of the scale
		return l.Shade[0], l.Unknown
	case c.Arrivals:
		return l.Shade[0], l.Admitted
	case c.Watched:
		return l.Room, l.Faint
	}
	return ' ', l.Faint
}

// Draw draws a lane into a row of cells: the past, the line of now and what is to come. With calm,
// the key is at ease, and its colours step back.
func Draw(g *cell.Buffer, x, y int, past []Cell, coming []Coming, calm bool, l *chart.Look) {
	for i, c := range past {
		glyph, st := Heat(c, l)
		if c.Known && c.Level > 0 && !c.Denied {
			if glyph = level(l.Rise, c.Level); calm {
				st = themes.Style{Fg: l.Fine}
			}
		}
		if glyph != ' ' {
			g.Set(x+i, y, glyph, st)
		}
	}
	x += len(past)
	g.Set(x, y, l.LimitV, l.Accent)
	for i, c := range coming {
		switch at := x + 1 + i; {
		case c.Frees:
			g.Set(at, y, l.Slot, l.Good)
		case c.Denies:
			g.Set(at, y, l.Cross, themes.Style{Fg: l.ComingDenied})
		case c.Known && c.Level > 0:
			g.Set(at, y, level(l.Rise, c.Level), themes.Style{Fg: l.Coming})
		}
	}
}

// level picks a shape by how full it is: the last one only at the limit.
func level(shapes []rune, full float32) rune {
	return shapes[min(max(int(full*float32(len(shapes)-1)), 0), len(shapes)-1)]
}

// tone is the colour of a level: calm below 60 % of the limit.
func tone(full float32, l *chart.Look) themes.Style {
	if full < 0.6 {
		return themes.Style{Fg: l.Fine}
	}
	return l.Fill(float64(full))
}
