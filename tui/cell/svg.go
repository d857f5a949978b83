package cell

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"ratescope/model/collect"
	"ratescope/themes"
)

// The size of a cell in a picture, where in it a letter stands, and how wide a dot of Braille is.
const (
	cellW, cellH = 8.4, 18.0
	baseline     = 13.5
	dot          = 2.0
)

// SVG draws the rows, a string a row, for a picture that a browser shows. Document puts them together.
func (g *Buffer) SVG() []string {
	rows := make([]string, g.H)
	for y := range rows {
		var b strings.Builder
		var r *run
		for x := range g.W {
			c := g.At(x, y)
			fg, bg, bold := c.S.Fg.Color(), c.S.Bg.Color(), c.S.Attr&themes.Bold != 0
			if c.S.Attr&themes.Reverse != 0 {
				fg, bg = bg, fg
			}
			if r == nil || r.fg != fg || r.bg != bg || r.bold != bold {
				r.write(&b)
				r = &run{x: x, y: y, fg: fg, bg: bg, bold: bold}
			}
			r.text = append(r.text, max(c.R, ' ')) // 0: the rest of a wide rune
		}
		r.write(&b)
		rows[y] = b.String()
	}
	return rows
}

// Document puts rows, drawn by SVG, into a picture of so many cells. style is more CSS; "" none.
func Document(columns, rows int, dark bool, style, body string) string {
	ground, text := "#11131a", "#d8d8d8"
	if !dark {
		ground, text = "#fbfbf8", "#1c1c1c"
	}
	w, h := float64(columns)*cellW+16, float64(rows)*cellH+16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" `, w, h, w)
	fmt.Fprintf(&b, `font-family="JetBrains Mono,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="%s">`, text)
	fmt.Fprintf(&b, `<style>%s.b{stroke-width:%g;stroke-dasharray:%g %g}rect{shape-rendering:crispEdges}</style>`, style, dot, dot,
		cellW/2-dot)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`, ground)
	fmt.Fprintf(&b, `<g transform="translate(8 8)" xml:space="preserve">%s</g></svg>`+"\n", body)
	return b.String()
}

// run is a stretch of a row in one style.
type run struct {
	x, y   int
	text   []rune
	fg, bg color.Color
	bold   bool
}

// write draws the run; of nil nothing. Blocks and Braille are shapes: fonts leave seams between them, or
// take them from another font, which is wider.
func (r *run) write(b *strings.Builder) {
	if r == nil {
		return
	}
	x, y := float64(r.x)*cellW, float64(r.y)*cellH
	if r.bg != nil {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`, x, y, float64(len(r.text))*cellW, cellH, hex(r.bg))
	}
	fill, stroke := "", ` stroke="currentColor"`
	if r.fg != nil {
		fill, stroke = ` fill="`+hex(r.fg)+`"`, ` stroke="`+hex(r.fg)+`"`
	}
	if r.bold {
		fill += ` font-weight="bold"`
	}
	letters := slices.Clone(r.text)
	for i := 0; i < len(r.text); {
		n := 1
		for i+n < len(r.text) && r.text[i+n] == r.text[i] {
			n++
		}
		parts, shade := block(r.text[i])
		for _, p := range parts {
			for k := range n {
				letters[i+k] = ' '
				if k > 0 && p.w == 1 {
					continue // one shape for all of them
				}
				width := collect.If(p.w == 1, float64(n), p.w)
				fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"%s%s/>`, x+(float64(i+k)+p.x)*cellW, y+p.y*cellH, width*cellW,
					p.h*cellH, fill, shade)
			}
		}
		i += n
	}
	if d := braille(letters, x, y); d != "" {
		fmt.Fprintf(b, `<path class="b" d="%s"%s/>`, d, stroke)
	}
	if text := strings.TrimRight(string(letters), " "); strings.TrimSpace(text) != "" {
		skip := len([]rune(text)) - len([]rune(strings.TrimLeft(text, " ")))
		text = strings.TrimLeft(text, " ")
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`, x+float64(skip)*cellW, y+baseline,
			float64(len([]rune(text)))*cellW, fill, escape(text))
	}
}

// braille takes the patterns of dots out of letters and returns the path that dashes draw:
// one dash a dot.
func braille(letters []rune, x, y float64) string {
	dots := [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	var d strings.Builder
	for row := range dots {
		length := 0
		flush := func(end int) {
			if length > 0 {
				fmt.Fprintf(&d, "M%.1f %.1fh%.1f", x+float64(end-length)*cellW/2+(cellW/2-dot)/2, y+(float64(row)+0.5)*cellH/4,
					float64(length)*cellW/2-(cellW/2-dot))
			}
			length = 0
		}
		for i, r := range letters {
			for side := range 2 {
				if r > 0x2800 && r <= 0x28ff && (r-0x2800)&dots[row][side] != 0 {
					length++
				} else {
					flush(2*i + side)
				}
			}
		}
		flush(2 * len(letters))
	}
	for i, r := range letters {
		if r >= 0x2800 && r <= 0x28ff {
			letters[i] = ' '
		}
	}
	return d.String()
}

// part is a rectangle within a cell, in cells.
type part struct{ x, y, w, h float64 }

// quadrants are the quarters of a cell that U+2596 and those after it fill: bit 0 the upper
// left one, then upper right, lower left, lower right.
var quadrants = [...]int{4, 8, 1, 1 | 4 | 8, 1 | 8, 1 | 2 | 4, 1 | 2 | 8, 2, 2 | 4, 2 | 4 | 8}

// block returns the parts of a cell that a block element fills, and how dense a shade is.
func block(r rune) (parts []part, shade string) {
	switch {
	case r == '▀':
		return []part{{0, 0, 1, 0.5}}, ""
	case r == '▐':
		return []part{{0.5, 0, 0.5, 1}}, ""
	case r >= '▁' && r <= '█':
		n := float64(r-'▁'+1) / 8
		return []part{{0, 1 - n, 1, n}}, ""
	case r > '█' && r <= '▏':
		return []part{{0, 0, 1 - float64(r-'█')/8, 1}}, ""
	case r >= '░' && r <= '▓':
		return []part{{0, 0, 1, 1}}, fmt.Sprintf(` opacity="%.2f"`, float64(r-'░'+1)/4)
	case r >= '▖' && r <= '▟':
		for q := range 4 {
			if quadrants[r-'▖']&(1<<q) != 0 {
				parts = append(parts, part{float64(q%2) / 2, float64(q/2) / 2, 0.5, 0.5})
			}
		}
	}
	return parts, ""
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
