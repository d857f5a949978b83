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
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"ratescope/feed"
	"ratescope/feed/inject"
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
			Injector: demo.Injector(inject.Options{AuditPath: audit}),
		}, func(t *tea.Program) { program = t; close(started) },
			tea.WithInput(keys), tea.WithOutput(terminal{screen}), tea.WithWindowSize(p.w, p.h), tea.WithoutSignalHandler(),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	}()
	<-started
	time.Sleep(2500 * time.Millisecond)
	for _, k := range p.keys {
		program.Send(k)
		time.Sleep(300 * time.Millisecond)
	}
	frames := []string{frame(screen)}
	for len(frames) < p.frames {
		time.Sleep(500 * time.Millisecond)
		frames = append(frames, frame(screen))
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

// The size of a cell and where in it a letter stands.
const (
	cellW, cellH = 8.4, 18.0
	baseline     = 13.5
)

func (p picture) svg(frames []string) string {
	ground, text := "#11131a", "#d8d8d8"
	if p.theme == "paper" {
		ground, text = "#fbfbf8", "#1c1c1c"
	}
	w, h := float64(p.w)*cellW+16, float64(p.h)*cellH+16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="JetBrains Mono,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="%s">`, w, h, w, text)
	if n := len(frames); n > 1 {
		fmt.Fprintf(&b, `<style>.f{visibility:hidden;animation:s %.1fs step-end infinite}@keyframes s{0%%{visibility:visible}%.3f%%{visibility:hidden}}</style>`, float64(n)/2, 100/float64(n))
	}
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/><g transform="translate(8 8)" xml:space="preserve">`, ground)
	for i, f := range frames {
		if len(frames) > 1 {
			fmt.Fprintf(&b, `<g class="f" style="animation-delay:%.1fs">%s</g>`, float64(i)/2, f)
		} else {
			b.WriteString(f)
		}
	}
	b.WriteString("</g></svg>\n")
	return b.String()
}

// run is a stretch of a row in one style.
type run struct {
	x, y   int
	text   []rune
	fg, bg color.Color
	bold   bool
}

func frame(screen *vt.SafeEmulator) string {
	var b strings.Builder
	for y := range screen.Height() {
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
	}
	return b.String()
}

func (r *run) write(b *strings.Builder) {
	if r == nil {
		return
	}
	x, y := float64(r.x)*cellW, float64(r.y)*cellH
	if r.bg != nil {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`, x, y, float64(len(r.text))*cellW, cellH, hex(r.bg))
	}
	fill := ""
	if r.fg != nil {
		fill = ` fill="` + hex(r.fg) + `"`
	}
	if r.bold {
		fill += ` font-weight="bold"`
	}
	letters := make([]rune, len(r.text))
	for i := 0; i < len(r.text); {
		n := 1
		for i+n < len(r.text) && r.text[i+n] == r.text[i] {
			n++
		}
		if dx, dy, dw, dh, ok := block(r.text[i]); ok { // blocks as rectangles: no font leaves seams then
			width := dw * cellW
			if dw == 1 {
				width = float64(n) * cellW
			} else {
				n = 1
			}
			for k := range n {
				letters[i+k] = ' '
			}
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"%s/>`, x+(float64(i)+dx)*cellW, y+dy*cellH, width, dh*cellH, fill)
		}
		for k := range n {
			if letters[i+k] == 0 {
				letters[i+k] = r.text[i]
			}
		}
		i += n
	}
	if text := strings.TrimRight(string(letters), " "); strings.TrimSpace(text) != "" {
		skip := len([]rune(text)) - len([]rune(strings.TrimLeft(text, " ")))
		text = strings.TrimLeft(text, " ")
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`, x+float64(skip)*cellW, y+baseline, float64(len([]rune(text)))*cellW, fill, escape(text))
	}
}

// block returns the part of a cell that a block element fills, in cells.
func block(r rune) (x, y, w, h float64, ok bool) {
	switch {
	case r >= '▁' && r <= '█':
		n := float64(r-'▁'+1) / 8
		return 0, 1 - n, 1, n, true
	case r > '█' && r <= '▏':
		return 0, 0, 1 - float64(r-'█')/8, 1, true
	}
	return 0, 0, 0, 0, false
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
