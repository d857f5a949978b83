// Package tui is the dashboard: a Bubble Tea program that shows a model.Board moving and
// hands orders to fire to an injector. It knows no Redis; what it shows comes in as batches
// and what it wants goes out through the functions of Options. It only puts the rooms
// together: tui/shell is the program around the screens, tui/session what they share, and
// each screen is a package of its own, in the table screens.
package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/events"
	"ratescope/tui/health"
	"ratescope/tui/heat"
	"ratescope/tui/keys"
	"ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// Options says what a dashboard shows and how.
type Options struct {
	Session session.Options // what is shown, and what can be done with it
	Lab     lab.Options     // of its screen; without Save no moment of it can be kept
	Look    shell.Options   // how it looks; what it remembers is in Choices

	// Choices is the file that keeps what a person chose (theme, order, mouse) from one start
	// to the next; "" forgets it.
	Choices string
}

// Run shows the dashboard until the user quits or ctx ends. Whatever happens, the terminal
// is left as it was. Several servers are in one view: a table of the keys of all. The screens, the orders and the
// files are those of the server of the selected key, and the first Options say how it looks.
func Run(ctx context.Context, all []Options, extra ...tea.ProgramOption) error {
	var apps []*shell.App
	var sessions []*session.Session
	var tables []*keys.Screen
	for i, o := range all {
		if i > 0 {
			o.Choices, o.Look = "", all[0].Look
		}
		app, s, err := NewDashboard(ctx, o)
		if err != nil {
			return err
		}
		apps, sessions, tables = append(apps, app), append(sessions, s), append(tables, shell.First(app).(*keys.Screen))
	}
	run := apps[0].Run
	if len(all) > 1 {
		session.Join(sessions...)
		keys.Join(tables...)
		run = shell.NewGroup(apps...).Run
	}
	err := run(extra...)
	for _, s := range sessions {
		err = cmp.Or(err, s.Files.Close())
	}
	return cmp.Or(err, apps[0].KeepAll())
}

// NewDashboard returns a program with the dashboard's screens in it, and what they share.
func NewDashboard(ctx context.Context, o Options) (*shell.App, *session.Session, error) {
	kept := openChoices(o.Choices)
	look := o.Look
	if look.Shelf == nil {
		look.Shelf = themes.BuiltIn()
	}
	if _, err := look.Shelf.Find(kept.values["theme"]); look.Theme == "" && err == nil {
		look.Theme = kept.values["theme"]
	}
	look.Name, look.Mouse = "ratescope", kept.values["mouse"] != "false"
	look.Remember = kept.remember
	app, err := shell.New(ctx, look)
	if err != nil {
		return nil, nil, err
	}
	s := session.New(app, o.Session)
	for _, sc := range screens {
		screen, err := sc.make(s, o)
		if err != nil {
			return nil, nil, err
		}
		app.Register(sc.name, sc.what, screen)
	}
	if o.Choices != "" && len(kept.values) == 0 {
		app.Say(collect.If(!s.Orders.Armament().Armed, firstRunReadOnly, firstRun))
		kept.remember("welcomed", "yes")()
	}
	return app, s, nil
}

// screens are the screens of the dashboard. The number of each is its key; adding one is a type and a line here.
var screens = []struct {
	name, what string
	make       func(*session.Session, Options) (shell.Screen, error)
}{
	{"dashboard", "shows the dashboard", func(s *session.Session, _ Options) (shell.Screen, error) { return keys.New(s), nil }},
	{"grid", "shows the grid of all keys", func(s *session.Session, _ Options) (shell.Screen, error) { return keys.NewGrid(s), nil }},
	{"lab", "opens the lab", newLab},
	{"health", "shows the health of the Redis behind it",
		func(s *session.Session, _ Options) (shell.Screen, error) { return health.New(s), nil }},
	{"events", "shows the events", func(s *session.Session, _ Options) (shell.Screen, error) { return events.New(s), nil }},
	{"heat", "shows every key over time", func(s *session.Session, _ Options) (shell.Screen, error) { return heat.New(s), nil }},
}

// newLab returns the lab, which keeps its place while another screen is shown.
func newLab(s *session.Session, o Options) (shell.Screen, error) {
	if o.Lab.Save == nil {
		o.Lab.Save = func(string, []byte) error { return errors.New("this screen keeps no files") }
	}
	return lab.NewScreen(s.Shell, o.Lab)
}

// The size of a Picture, in cells: all panes have room.
const pictureW, pictureH = 140, 42

// Picture draws the dashboard of a board once, without a terminal, and returns it as text and as
// SVG. Of o it uses Look.Shelf, Look.Theme and Session.Mask alone. It may be called from any goroutine.
func Picture(board *model.Board, o Options) (text, drawing string, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	app, _, err := NewDashboard(ctx, Options{Look: shell.Options{Shelf: o.Look.Shelf, Theme: o.Look.Theme},
		Session: session.Options{Mask: o.Session.Mask}})
	if err != nil {
		return "", "", err
	}
	app.Update(tea.WindowSizeMsg{Width: pictureW, Height: pictureH})
	app.Update(session.BatchMsg(board.Anew(board.At)))
	app.Update(shell.TickAt(board.Local))
	app.Hush()
	app.Update(tea.WindowSizeMsg{Width: pictureW, Height: pictureH})
	body := strings.Join(app.Canvas.Buffer.SVG(), "")
	return app.Canvas.Buffer.Plain(), cell.Document(pictureW, pictureH, app.Canvas.Look.Dark, "", body), nil
}

// Events returns what the board has on record in words, oldest first.
func Events(board *model.Board) []record.Marker {
	return collect.Map(board.Alerts(), func(a model.Alert) record.Marker {
		return record.Marker{At: a.At, Kind: record.MarkerEvent, Key: a.Key, Text: session.EventText(&a)}
	})
}

// Concerns returns what is wrong with the server of a board, the worst first, in words.
func Concerns(board *model.Board) []string {
	return collect.Map(session.Concerns(&board.Health, board.Server), func(c session.Concern) string { return c.What + ": " + c.Why })
}

// choices are what a person has chosen, kept in a file from one start to the next. A file that
// cannot be read counts as empty, and one that cannot be written is left: nothing depends on it.
type choices struct {
	path   string
	mu     sync.Mutex
	values map[string]string
}

// openChoices reads the choices of a file; with "" they are forgotten at the end.
func openChoices(path string) *choices {
	c := &choices{path: path, values: map[string]string{}}
	if text, err := os.ReadFile(path); path != "" && err == nil {
		_ = json.Unmarshal(text, &c.values)
	}
	if c.values == nil { // the file says null
		c.values = map[string]string{}
	}
	return c
}

// remember keeps a choice; the command writes the file.
func (c *choices) remember(key, value string) tea.Cmd {
	c.mu.Lock()
	c.values[key] = value
	values := maps.Clone(c.values)
	c.mu.Unlock()
	if c.path == "" {
		return nil
	}
	return func() tea.Msg {
		c.mu.Lock() // two writes one after the other
		defer c.mu.Unlock()
		text, err := json.MarshalIndent(values, "", "  ")
		if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
			return nil
		}
		if os.WriteFile(c.path+".new", text, 0o600) == nil {
			_ = os.Rename(c.path+".new", c.path)
		}
		return nil
	}
}

// What there is to try, which is said the first time that the program runs: where requests can be fired at
// once, and where they cannot.
const (
	firstRun         = "Three things to try: space fires, p and ← go back, : finds anything."
	firstRunReadOnly = "Three things to try: p and ← go back, enter looks closer, : finds anything."
)
