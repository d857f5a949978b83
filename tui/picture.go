package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// The size of a Picture, in cells: all panes have room.
const pictureW, pictureH = 140, 42

// Picture draws the dashboard of a board once, without a terminal, and returns it as text and as
// SVG. Of o it uses Shelf, Theme and Mask alone. It may be called from any goroutine.
func Picture(board *model.Board, o Options) (text, drawing string, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	app, _, err := NewDashboard(ctx, Options{Look: shell.Options{Shelf: o.Look.Shelf, Theme: o.Look.Theme}, Mask: o.Mask})
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
