// Pictures makes the README's pictures: it runs the dashboard on the embedded Redis in
// a virtual terminal and writes what stands there as SVG.
//
//	go run ./docs/pictures        # writes docs/*.svg
package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/tui"
)

// picture is one capture: its size, its theme, the keys pressed before it.
type picture struct {
	file   string
	w, h   int
	theme  string
	keys   []tea.KeyPressMsg
	frames int // above 1: a moving picture, two frames a second
}

// before is how long the demo runs before it is pictured: its timelines are full then.
const before = 25 * time.Second

var pictures = []picture{
	{file: "dashboard.svg", w: 140, h: 42, theme: "phosphor", keys: typed("jb"), frames: 14},
	{file: "dashboard-light.svg", w: 140, h: 42, theme: "paper", keys: typed("jj")},
	{file: "grid.svg", w: 140, h: 42, theme: "phosphor", keys: typed("2")},
	{file: "lab.svg", w: 140, h: 42, theme: "phosphor", keys: append(typed("3nnnnnnnn"), append(press(tea.KeyEnter), typed("w")...)...)},
	{file: "small.svg", w: 80, h: 24, theme: "phosphor", keys: typed("b")},
}

func typed(s string) (keys []tea.KeyPressMsg) {
	for _, r := range s {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return keys
}

func press(code rune) []tea.KeyPressMsg { return []tea.KeyPressMsg{{Code: code}} }

func main() {
	for _, p := range pictures {
		if err := p.take(); err != nil {
			fmt.Fprintf(os.Stderr, "pictures: %s could not be made: %v\n", p.file, err)
			os.Exit(1)
		}
		fmt.Println(filepath.Join("docs", p.file))
	}
}

func (p picture) take() error {
	demo, err := feed.NewEmbedded(feed.Options{})
	if err != nil {
		return err
	}
	defer demo.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	box := feed.NewMailbox()
	watched := make(chan error, 1)
	go func() { watched <- demo.Run(ctx, box.Put) }()

	screen := vt.NewSafeEmulator(p.w, p.h)
	keys, answers := io.Pipe()
	go func() { _, _ = io.Copy(answers, screen) }()
	var program *tea.Program
	started := make(chan struct{})
	audit := filepath.Join(os.TempDir(), "ratescope-pictures-audit.jsonl")
	shown := make(chan error, 1)
	go func() {
		shown <- tui.Run(ctx, tui.Options{
			Take: box.Take, Focus: demo.Focus, Theme: p.theme,
			Injector: demo.Injector(fire.Options{AuditPath: audit}),
		}, func(t *tea.Program) { program = t; close(started) },
			tea.WithInput(keys), tea.WithOutput(terminal{screen}), tea.WithWindowSize(p.w, p.h), tea.WithoutSignalHandler(),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	}()
	<-started
	time.Sleep(before)
	for _, k := range p.keys {
		program.Send(k)
		time.Sleep(300 * time.Millisecond)
	}
	frames := [][]string{rows(screen)}
	for len(frames) < p.frames {
		time.Sleep(500 * time.Millisecond)
		frames = append(frames, rows(screen))
	}
	cancel()
	<-shown
	<-watched
	return os.WriteFile(filepath.Join("docs", p.file), []byte(p.svg(frames)), 0o644)
}

// terminal takes output as a terminal's line discipline does.
type terminal struct{ screen *vt.SafeEmulator }

func (t terminal) Write(b []byte) (int, error) {
	_, err := t.screen.Write([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
	return len(b), err
}

// The size of a cell, where in it a letter stands, and how wide a dot of Braille is.
const (
	cellW, cellH = 8.4, 18.0
	baseline     = 13.5
	dot          = 2.0
)

// svg puts frames, of p.h rows each, into one picture. A row is written once for as long
// as it stays as it is.
func (p picture) svg(frames [][]string) string {
	ground, text := "#11131a", "#d8d8d8"
	if p.theme == "paper" {
		ground, text = "#fbfbf8", "#1c1c1c"
	}
	w, h := float64(p.w)*cellW+16, float64(p.h)*cellH+16
	n := len(frames)
	var body, style strings.Builder
	lasts := map[int]bool{} // for how many frames rows stay
	for y := range p.h {
		for from := 0; from < n; {
			to := from + 1
			for to < n && frames[to][y] == frames[from][y] {
				to++
			}
			switch row := frames[from][y]; {
			case to-from == n:
				body.WriteString(row)
			case row != "":
				still := "" // the first frame is what a viewer shows that does not animate
				if from == 0 {
					still = ";visibility:visible"
				}
				fmt.Fprintf(&body, `<g class="f l%d" style="animation-delay:%.1fs%s">%s</g>`, to-from, float64(from)/2, still, row)
				if !lasts[to-from] {
					lasts[to-from] = true
					fmt.Fprintf(&style, `.l%[1]d{animation-name:s%[1]d}@keyframes s%[1]d{0%%{visibility:visible}%.3[2]f%%{visibility:hidden}}`, to-from, 100*float64(to-from)/float64(n))
				}
			}
			from = to
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="JetBrains Mono,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="%s">`, w, h, w, text)
	fmt.Fprintf(&b, `<style>.f{visibility:hidden;animation:%.1fs step-end infinite}%s.b{stroke-width:%g;stroke-dasharray:%g %g}rect{shape-rendering:crispEdges}</style>`,
		float64(n)/2, style.String(), dot, dot, cellW/2-dot)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/><g transform="translate(8 8)" xml:space="preserve">%s</g></svg>`+"\n", ground, body.String())
	return b.String()
}

// run is a stretch of a row in one style.
type run struct {
	x, y   int
	text   []rune
	fg, bg color.Color
	bold   bool
}

// rows draws what is on screen, row by row.
func rows(screen *vt.SafeEmulator) []string {
	list := make([]string, screen.Height())
	for y := range list {
		var b strings.Builder
		var r *run
		for x := 0; x < screen.Width(); x++ {
			c := screen.CellAt(x, y)
			glyph, fg, bg, bold := ' ', color.Color(nil), color.Color(nil), false
			if c != nil {
				if c.Content != "" {
					glyph = []rune(c.Content)[0]
				}
				fg, bg, bold = c.Style.Fg, c.Style.Bg, c.Style.Attrs&1 != 0
			}
			if r == nil || r.fg != fg || r.bg != bg || r.bold != bold {
				r.write(&b)
				r = &run{x: x, y: y, fg: fg, bg: bg, bold: bold}
			}
			r.text = append(r.text, glyph)
		}
		r.write(&b)
		list[y] = b.String()
	}
	return list
}

// write draws the run. Blocks and Braille are shapes: fonts leave seams between them, or
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
				width := p.w
				if p.w == 1 {
					width = float64(n)
				}
				fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"%s%s/>`, x+(float64(i+k)+p.x)*cellW, y+p.y*cellH, width*cellW, p.h*cellH, fill, shade)
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
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`, x+float64(skip)*cellW, y+baseline, float64(len([]rune(text)))*cellW, fill, escape(text))
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
				fmt.Fprintf(&d, "M%.1f %.1fh%.1f", x+float64(end-length)*cellW/2+(cellW/2-dot)/2, y+(float64(row)+0.5)*cellH/4, float64(length)*cellW/2-(cellW/2-dot))
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
