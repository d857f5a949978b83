package tui

import "ratescope/tui/keymap"

// action is something a person can ask for, by key, by mouse or by name.
type action uint8

const (
	noAction action = iota
	actFire
	actBurst
	actRate
	actMore
	actLess
	actStop
	actUp
	actDown
	actPageUp
	actPageDown
	actFirst
	actLast
	actExpand
	actBack
	actNextPane
	actFilter
	actSort
	actReverse
	actPause
	actEarlier
	actLater
	actZoomIn
	actZoomOut
	actPin
	actTheme
	actMouse
	actCopy
	actExport
	actRecord
	actHelp
	actPalette
	actScreen1
	actScreen2
	actScreen3
	actScreen4
	actScreen5
	actQuit
)

// bindings is the only place that knows keys: dispatch, the help and the README's list
// all read it.
var bindings = keymap.Table[action]{
	keymap.Bind(actFire, "fire", "space", "fires one request at the selected key", "space"),
	keymap.Bind(actBurst, "fire", "b", "fires a burst of N", "b"),
	keymap.Bind(actRate, "fire", "r", "starts and stops firing at a rate", "r"),
	keymap.Bind(actMore, "fire", "+", "raises N or the rate; in a replay the speed", "+", "="),
	keymap.Bind(actLess, "fire", "-", "lowers N or the rate; in a replay the speed", "-", "_"),
	keymap.Bind(actStop, "fire", "x", "stops everything that is firing", "x"),

	keymap.Bind(actUp, "keys", "↑ k", "selects the key above", "up", "k"),
	keymap.Bind(actDown, "keys", "↓ j", "selects the key below", "down", "j"),
	keymap.Bind(actPageUp, "keys", "pgup", "goes up a page", "pgup", "ctrl+b"),
	keymap.Bind(actPageDown, "keys", "pgdn", "goes down a page", "pgdown", "ctrl+f"),
	keymap.Bind(actFirst, "keys", "home g", "selects the first key", "home", "g"),
	keymap.Bind(actLast, "keys", "end G", "selects the last key", "end", "G"),
	keymap.Bind(actFilter, "keys", "/", "filters keys by the letters you type", "/"),
	keymap.Bind(actSort, "keys", "s", "sorts by the next column", "s"),
	keymap.Bind(actReverse, "keys", "S", "reverses the order", "S"),
	keymap.Bind(actPin, "keys", "P", "pins the key on top, to compare it", "P"),
	keymap.Bind(actCopy, "keys", "y", "copies the row as text", "y"),
	keymap.Bind(actExport, "keys", "e", "exports all keys to a JSON file", "e"),
	keymap.Bind(actRecord, "keys", "R", "records to a file; begins a replay anew", "R"),

	keymap.Bind(actPause, "time", "p", "pauses the picture; collecting goes on", "p"),
	keymap.Bind(actEarlier, "time", "← h", "scrolls back while paused, or in a replay", "left", "h"),
	keymap.Bind(actLater, "time", "→ l", "scrolls on while paused, or in a replay", "right", "l"),
	keymap.Bind(actZoomOut, "time", "[", "shows a longer stretch of time", "["),
	keymap.Bind(actZoomIn, "time", "]", "shows a shorter stretch; so does dragging", "]"),

	keymap.Bind(actScreen1, "view", "1", "shows the dashboard", "1"),
	keymap.Bind(actScreen2, "view", "2", "shows the grid of all keys", "2"),
	keymap.Bind(actScreen3, "view", "3", "opens the lab; q leads back from it", "3"),
	keymap.Bind(actScreen4, "view", "4", "shows the health of the Redis behind it", "4"),
	keymap.Bind(actScreen5, "view", "5", "shows the events", "5"),
	keymap.Bind(actExpand, "view", "enter", "expands the pane in focus", "enter"),
	keymap.Bind(actBack, "view", "esc", "goes back", "esc"),
	keymap.Bind(actNextPane, "view", "tab", "moves the focus to the next pane", "tab"),
	keymap.Bind(actPalette, "view", ":", "finds any action by its words", ":"),
	keymap.Bind(actTheme, "view", "t", "picks a theme", "t"),
	keymap.Bind(actMouse, "view", "m", "turns the mouse on or off", "m"),
	keymap.Bind(actHelp, "view", "?", "shows this help", "?"),
	keymap.Bind(actQuit, "view", "q", "quits", "q", "ctrl+c"),
}

var actionOf = bindings.Actions()

// HelpMarkdown returns the table of keys for the README.
func HelpMarkdown() string { return bindings.Markdown() }
