package tui

import "strings"

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
	actHelp
	actPalette
	actScreen1
	actScreen2
	actScreen3
	actScreen4
	actScreen5
	actQuit
)

// binding ties keys to an action. This table is the only place that knows keys:
// dispatch, the help overlay, the footer and the README's list all read it.
type binding struct {
	keys  []string // as tea.KeyPressMsg.String says them
	shown string   // as a person reads them
	act   action
	what  string // completes "this key …"
	group string
}

var bindings = []binding{
	{[]string{"space"}, "space", actFire, "fires one request at the selected key", "fire"},
	{[]string{"b"}, "b", actBurst, "fires a burst of N", "fire"},
	{[]string{"r"}, "r", actRate, "starts and stops firing at a rate", "fire"},
	{[]string{"+", "="}, "+", actMore, "raises N, or the rate while one runs", "fire"},
	{[]string{"-", "_"}, "-", actLess, "lowers N, or the rate while one runs", "fire"},
	{[]string{"x"}, "x", actStop, "stops everything that is firing", "fire"},

	{[]string{"up", "k"}, "↑ k", actUp, "selects the key above", "keys"},
	{[]string{"down", "j"}, "↓ j", actDown, "selects the key below", "keys"},
	{[]string{"pgup", "ctrl+b"}, "pgup", actPageUp, "goes up a page", "keys"},
	{[]string{"pgdown", "ctrl+f"}, "pgdn", actPageDown, "goes down a page", "keys"},
	{[]string{"home", "g"}, "home g", actFirst, "selects the first key", "keys"},
	{[]string{"end", "G"}, "end G", actLast, "selects the last key", "keys"},
	{[]string{"/"}, "/", actFilter, "filters keys by the letters you type", "keys"},
	{[]string{"s"}, "s", actSort, "sorts by the next column", "keys"},
	{[]string{"S"}, "S", actReverse, "reverses the order", "keys"},
	{[]string{"P"}, "P", actPin, "pins the key to the top and compares with it", "keys"},
	{[]string{"y"}, "y", actCopy, "copies the row as text", "keys"},
	{[]string{"e"}, "e", actExport, "exports all keys to a JSON file", "keys"},

	{[]string{"p"}, "p", actPause, "pauses the picture; collecting goes on", "time"},
	{[]string{"left", "h"}, "← h", actEarlier, "scrolls back while paused", "time"},
	{[]string{"right", "l"}, "→ l", actLater, "scrolls forward while paused", "time"},
	{[]string{"["}, "[", actZoomOut, "shows a longer stretch of time", "time"},
	{[]string{"]"}, "]", actZoomIn, "shows a shorter stretch; so does dragging", "time"},

	{[]string{"1"}, "1", actScreen1, "shows the dashboard", "view"},
	{[]string{"2"}, "2", actScreen2, "shows the grid of all keys", "view"},
	{[]string{"3"}, "3", actScreen3, "opens the lab; q leads back from it", "view"},
	{[]string{"4"}, "4", actScreen4, "shows the health of the Redis behind it", "view"},
	{[]string{"5"}, "5", actScreen5, "shows the events", "view"},
	{[]string{"enter"}, "enter", actExpand, "expands the pane in focus", "view"},
	{[]string{"esc"}, "esc", actBack, "goes back", "view"},
	{[]string{"tab"}, "tab", actNextPane, "moves the focus to the next pane", "view"},
	{[]string{":"}, ":", actPalette, "finds any action by its words", "view"},
	{[]string{"t"}, "t", actTheme, "picks a theme", "view"},
	{[]string{"m"}, "m", actMouse, "turns the mouse on or off", "view"},
	{[]string{"?"}, "?", actHelp, "shows this help", "view"},
	{[]string{"q", "ctrl+c"}, "q", actQuit, "quits", "view"},
}

var actionOf = func() map[string]action {
	m := make(map[string]action)
	for _, b := range bindings {
		for _, k := range b.keys {
			m[k] = b.act
		}
	}
	return m
}()

// HelpMarkdown returns the table of keys for the README.
func HelpMarkdown() string {
	var b strings.Builder
	b.WriteString("| key | does |\n|---|---|\n")
	for _, k := range bindings {
		names := make([]string, len(k.keys))
		for i, name := range k.keys {
			names[i] = "`" + name + "`"
		}
		b.WriteString("| " + strings.Join(names, " ") + " | " + k.what + " |\n")
	}
	return b.String()
}
