// Pictures makes the README's pictures: it runs the dashboard on the embedded Redis in
// a virtual terminal and writes what stands there as SVG. The one that moves is made on a
// clock of its own, from requests that are the same every time, and so is always the same.
//
//	go run ./docs/pictures          # writes docs/*.svg
//	go run ./docs/pictures moving   # writes docs/window.svg alone
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/svg"
)

// picture is one capture: its size, its theme, the keys pressed before it.
type picture struct {
	file  string
	w, h  int
	theme string
	keys  []tea.KeyPressMsg
}

// before is how long the demo runs before it is pictured: its timelines are full then.
const before = 25 * time.Second

var pictures = []picture{
	{file: "dashboard.svg", w: 140, h: 42, theme: "phosphor", keys: typed("jb")},
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
	time.Local = time.UTC // times of day on screen are those of no place
	moving, err := film()
	if err == nil {
		err = write(filmFile, moving)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pictures: %s could not be made: %v\n", filmFile, err)
		os.Exit(1)
	}
	fmt.Println(filepath.Join("docs", filmFile))
	if len(os.Args) > 1 && os.Args[1] == "moving" {
		return
	}
	for _, p := range pictures {
		if err := p.take(); err != nil {
			fmt.Fprintf(os.Stderr, "pictures: %s could not be made: %v\n", p.file, err)
			os.Exit(1)
		}
		fmt.Println(filepath.Join("docs", p.file))
	}
}

func write(file, content string) error {
	return os.WriteFile(filepath.Join("docs", file), []byte(content), 0o644)
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
			Source: session.Source{Take: box.Take, Focus: demo.Focus},
			Look:   shell.Options{Theme: p.theme},
			Inject: firing.Options{Injector: demo.Injector(fire.Options{AuditPath: audit})},
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
	drawn := strings.Join(rows(screen), "")
	cancel()
	<-shown
	<-watched
	return write(p.file, svg.Document(p.w, p.h, p.theme != "paper", "", drawn))
}

// terminal takes output as a terminal's line discipline does.
type terminal struct{ screen *vt.SafeEmulator }

func (t terminal) Write(b []byte) (int, error) {
	_, err := t.screen.Write([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
	return len(b), err
}

// rows draws what is on screen, row by row.
func rows(screen *vt.SafeEmulator) []string {
	list := make([]string, screen.Height())
	for y := range list {
		cells := make([]svg.Cell, screen.Width())
		for x := range cells {
			cells[x].R = ' '
			if c := screen.CellAt(x, y); c != nil {
				if c.Content != "" {
					cells[x].R = []rune(c.Content)[0]
				}
				cells[x].Fg, cells[x].Bg, cells[x].Bold = c.Style.Fg, c.Style.Bg, c.Style.Attrs&1 != 0
			}
		}
		list[y] = svg.Row(y, cells)
	}
	return list
}
