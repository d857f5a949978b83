package lab

import "ratescope/tui/keymap"

// action is something a person can ask for, by key or by mouse.
type action uint8

const (
	noAction action = iota
	actFire
	actBurst
	actRate
	actMore
	actLess
	actStop
	actPlay
	actStep
	actStepBack
	actSlower
	actFaster
	actGo
	actRestart
	actReseed
	actZoomIn
	actZoomOut
	actUp
	actDown
	actAlgorithm
	actNextScreen
	actCompare
	actInspect
	actQuiz
	actLesson
	actEnter
	actBack
	actTerms
	actLessons
	actNextLesson
	actPrevLesson
	actWatch
	actHint
	actPresent
	actMarkdown
	actScenario
	actCopy
	actTheme
	actMouse
	actHelp
	actQuit
)

// bindings is the only place that knows keys: dispatch, the help and the README's list
// all read it.
var bindings = keymap.Table[action]{
	keymap.Bind(actFire, "fire", "space", "fires one request", "space"),
	keymap.Bind(actBurst, "fire", "b", "fires a burst of N", "b"),
	keymap.Bind(actRate, "fire", "r", "fires N in every window; again stops", "r"),
	keymap.Bind(actMore, "fire", "+", "raises N", "+", "="),
	keymap.Bind(actLess, "fire", "-", "lowers N", "-", "_"),
	keymap.Bind(actStop, "fire", "x", "stops firing and the clock", "x"),

	keymap.Bind(actPlay, "time", "p", "starts and stops the clock", "p"),
	keymap.Bind(actStep, "time", "→ l .", "steps to the next request", "right", "l", "."),
	keymap.Bind(actStepBack, "time", "← h ,", "steps back", "left", "h", ","),
	keymap.Bind(actSlower, "time", "<", "slows the clock down, to 0.1x", "<"),
	keymap.Bind(actFaster, "time", ">", "speeds it up, to 50x", ">"),
	keymap.Bind(actGo, "time", "g", "goes to a time you type, as 9.9s or 999ms", "g"),
	keymap.Bind(actRestart, "time", "R", "restarts with the same seed", "R", "home"),
	keymap.Bind(actReseed, "time", "Z", "restarts with another seed", "Z"),
	keymap.Bind(actZoomOut, "time", "[", "shows a longer stretch of time", "["),
	keymap.Bind(actZoomIn, "time", "]", "shows a shorter stretch of time", "]"),

	keymap.Bind(actCompare, "view", "1", "compares the algorithms", "1"),
	keymap.Bind(actInspect, "view", "2", "inspects one decision", "2"),
	keymap.Bind(actQuiz, "view", "3", "asks you to predict: a or d, then 1 to 3", "3"),
	keymap.Bind(actLesson, "view", "4", "shows the lesson's text", "4"),
	keymap.Bind(actNextScreen, "view", "tab", "goes to the next of these", "tab"),
	keymap.Bind(actUp, "view", "↑ k", "selects what is above", "up", "k"),
	keymap.Bind(actDown, "view", "↓ j", "selects what is below", "down", "j"),
	keymap.Bind(actAlgorithm, "view", "a", "selects the next algorithm", "a"),
	keymap.Bind(actEnter, "view", "enter", "opens what is selected", "enter"),
	keymap.Bind(actBack, "view", "esc", "goes back", "esc"),

	keymap.Bind(actLessons, "lesson", "L", "lists the lessons", "L"),
	keymap.Bind(actNextLesson, "lesson", "n", "begins the next lesson", "n"),
	keymap.Bind(actPrevLesson, "lesson", "N", "begins the one before", "N"),
	keymap.Bind(actHint, "lesson", "i", "gives a hint", "i"),
	keymap.Bind(actWatch, "lesson", "w", "shows how the goal is reached", "w"),
	keymap.Bind(actTerms, "lesson", "v", "changes limit, terms, traffic, algorithms", "v"),

	keymap.Bind(actPresent, "room", "B", "presenter mode: large and few", "B"),
	keymap.Bind(actMarkdown, "room", "e", "saves the moment as Markdown", "e"),
	keymap.Bind(actScenario, "room", "E", "saves what happened as a scenario file", "E"),
	keymap.Bind(actCopy, "room", "y", "copies the Redis script of the step", "y"),
	keymap.Bind(actTheme, "room", "t", "wears the next theme", "t"),
	keymap.Bind(actMouse, "room", "m", "turns the mouse on or off", "m"),
	keymap.Bind(actHelp, "room", "?", "shows this help", "?"),
	keymap.Bind(actQuit, "room", "q", "quits", "q", "ctrl+c"),
}

var actionOf = bindings.Actions()

// HelpMarkdown returns the table of the lab's keys for the README.
func HelpMarkdown() string { return bindings.Markdown() }
