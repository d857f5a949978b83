// Package tui is the dashboard: a Bubble Tea program that shows a model.Board moving and
// hands orders to fire to an injector. It knows no Redis; what it shows comes in as batches
// and what it wants goes out through the functions of Options. It only puts the rooms
// together: tui/shell is the program around the screens, tui/session what they share, and
// each screen is a package of its own, registered in screens.go.
package tui

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/model/marker"
	"ratescope/model/report"
	"ratescope/themes"
	"ratescope/tui/firing"
	"ratescope/tui/lab"
	"ratescope/tui/markers"
	"ratescope/tui/saving"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/shown"
	"ratescope/tui/tour"
)

// Injector fires synthetic requests. It decides alone what may be fired.
type Injector = firing.Injector

// Arming is what stands between a key press and a server of others.
type Arming = firing.Arming

// Changer changes keys: it frees them, gives them room, blocks them.
type Changer = firing.Changer

// TakerBack takes back what was fired and changed.
type TakerBack = firing.TakerBack

// Recorded returns when requests came at a key in a recording.
type Recorded = firing.Recorded

// Player plays a recording.
type Player = shown.Player

// Recorder keeps batches in a file.
type Recorder = saving.Recorder

// Options says what a dashboard shows and how.
type Options struct {
	Take     func(context.Context) (model.Batch, error) // waits for the next batch
	Focus    func(keys []string)                        // gets the keys on screen; may be nil
	Injector Injector                                   // nil: firing is not possible
	Arming   Arming                                     // nil: what can be fired is fired at once
	Changer  Changer                                    // nil: keys cannot be changed
	Back     TakerBack                                  // nil: nothing can be taken back
	Recorded Recorded                                   // nil: no recording can be fired

	// Export keeps what is on the board and says where; nil: that is not possible.
	Export func(model.Batch) (path string, err error)
	// ExportRows does so with a row a key in a format; nil: that is not possible.
	ExportRows func(b model.Batch, format report.Format) (path string, err error)
	// ExportEvents writes what happened at a server, which is named; nil: that is not possible.
	ExportEvents func(server string, list []marker.Marker, format report.Format) (path string, err error)

	// Player, when what is shown is a replay, plays it; Take hands out its batches.
	Player Player
	// Markers are the moments of a replay that are marked, and what happened in it.
	Markers markers.Options
	// Record begins to keep what is seen in a new file; nil: that is not possible.
	Record func() (r Recorder, name string, err error)
	// Keep gets every batch, for Capsule, which saves what was kept together with the board and
	// says what it holds; nil: that is not possible.
	Keep    func(model.Batch)
	Capsule func(*model.Board) (account string, err error)

	// Save keeps a moment of the lab under a name; nil: that is not possible.
	Save func(name string, content []byte) error

	// Memory is what was done in the lab before, and KeepMemory keeps what is done now; nil
	// forgets it.
	Memory     lab.Memory
	KeepMemory func(lab.Memory) error

	// Choices is the file that keeps what a person chose (theme, order, mouse) from one start
	// to the next; "" forgets it.
	Choices string

	Tour bool // go through the screens in a minute, with a sentence about each; any key ends it

	// Library says what is known of a library by its name; nil: nothing.
	Library func(name string) (identify.Library, bool)
	// Adopt makes a rule of a likely group for as long as the program runs; nil: not possible.
	Adopt func(g identify.Group) error

	Shelf themes.Shelf // the themes to choose from; nil means the built-in ones
	Theme string       // "" picks by the terminal's background
	FPS   int          // frames a second; 0 means 10
	ASCII bool         // no blocks, lines or dots beyond ASCII
	Still bool         // no animation: the picture changes once a second
	Mask  bool         // hide the middle of key names

	Suspend bool // ctrl+z hands the terminal back to the shell

	Production bool   // the target is marked as production: a badge says so on every screen
	Colour     string // of the target's name, one of feed/config's; "" the theme's

	// News waits for what became of the alerts of the configuration; nil: there are none.
	News func(context.Context) ([]session.News, error)
	// Timed receives how long each message of the screen took, for a debug log; nil for none.
	Timed func(shell.Timing)
	// Notify says how an alert that begins reaches a person who does not look.
	Notify session.Notify
}

// Run shows the dashboard until the user quits or ctx ends. Whatever happens, the terminal
// is left as it was.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	app, s, err := newApp(ctx, o)
	if err != nil {
		return err
	}
	err = app.Run(extra...)
	return cmp.Or(err, s.Close(), app.KeepAll())
}

// newApp returns a program with the dashboard's screens in it.
func newApp(ctx context.Context, o Options) (*shell.App, *session.Session, error) {
	kept := openChoices(o.Choices)
	if o.Shelf == nil {
		o.Shelf = themes.BuiltIn()
	}
	if _, err := o.Shelf.Find(kept.values["theme"]); o.Theme == "" && err == nil {
		o.Theme = kept.values["theme"]
	}
	app, err := shell.New(ctx, shell.Options{
		Name: "ratescope", Shelf: o.Shelf, Theme: o.Theme, FPS: o.FPS, ASCII: o.ASCII, Still: o.Still,
		Mouse: kept.values["mouse"] != "false", Remember: kept.remember, Recall: func(key string) string { return kept.values[key] },
		Suspend: o.Suspend, Timed: o.Timed,
	})
	if err != nil {
		return nil, nil, err
	}
	s := session.New(app, session.Options{
		Library: o.Library, Adopt: o.Adopt,
		Take: o.Take, Focus: o.Focus, Injector: o.Injector, Arming: o.Arming, Changer: o.Changer, Back: o.Back, Recorded: o.Recorded, Player: o.Player, Markers: o.Markers,
		Saving: saving.Options{Record: o.Record, Keep: o.Keep, Capsule: o.Capsule, Export: o.Export, ExportRows: o.ExportRows, ExportEvents: o.ExportEvents},
		ASCII:  o.ASCII, Still: o.Still, Mask: o.Mask, Production: o.Production, Colour: o.Colour, News: o.News, Notify: o.Notify,
	})
	for _, sc := range screens {
		screen, err := sc.make(s, o)
		if err != nil {
			return nil, nil, err
		}
		app.Register(sc.name, sc.what, screen)
	}
	s.Restore(kept.values["sort"])
	s.RestoreZoom(kept.values["zoom"])
	if o.Tour {
		app.Open(tour.New(s))
	}
	if o.Choices != "" && len(kept.values) == 0 {
		app.Say(firstRun)
		kept.remember("welcomed", "yes")()
	}
	return app, s, nil
}
