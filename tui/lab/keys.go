package lab

import "strings"

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

// binding ties keys to an action. This table is the only place that knows keys: dispatch,
// the help and the README's list all read it.
type binding struct {
	keys  []string // as tea.KeyPressMsg.String says them
	shown string   // as a person reads them
	act   action
	what  string // completes "this key …"
	group string
}

var bindings = []binding{
	{[]string{"space"}, "space", actFire, "fires one request", "fire"},
	{[]string{"b"}, "b", actBurst, "fires a burst of N", "fire"},
	{[]string{"r"}, "r", actRate, "fires N in every window; again stops", "fire"},
	{[]string{"+", "="}, "+", actMore, "raises N", "fire"},
	{[]string{"-", "_"}, "-", actLess, "lowers N", "fire"},
	{[]string{"x"}, "x", actStop, "stops firing and the clock", "fire"},

	{[]string{"p"}, "p", actPlay, "starts and stops the clock", "time"},
	{[]string{"right", "l", "."}, "→ l .", actStep, "steps to the next request", "time"},
	{[]string{"left", "h", ","}, "← h ,", actStepBack, "steps back", "time"},
	{[]string{"<"}, "<", actSlower, "slows the clock down, to 0.1x", "time"},
	{[]string{">"}, ">", actFaster, "speeds it up, to 50x", "time"},
	{[]string{"g"}, "g", actGo, "goes to a time you type, as 9.9s or 999ms", "time"},
	{[]string{"R", "home"}, "R", actRestart, "restarts with the same seed", "time"},
	{[]string{"Z"}, "Z", actReseed, "restarts with another seed", "time"},
	{[]string{"["}, "[", actZoomOut, "shows a longer stretch of time", "time"},
	{[]string{"]"}, "]", actZoomIn, "shows a shorter stretch of time", "time"},

	{[]string{"1"}, "1", actCompare, "compares the algorithms", "view"},
	{[]string{"2"}, "2", actInspect, "inspects one decision", "view"},
	{[]string{"3"}, "3", actQuiz, "asks you to predict", "view"},
	{[]string{"4"}, "4", actLesson, "shows the lesson's text", "view"},
	{[]string{"tab"}, "tab", actNextScreen, "goes to the next of these", "view"},
	{[]string{"up", "k"}, "↑ k", actUp, "selects what is above", "view"},
	{[]string{"down", "j"}, "↓ j", actDown, "selects what is below", "view"},
	{[]string{"a"}, "a", actAlgorithm, "selects the next algorithm", "view"},
	{[]string{"enter"}, "enter", actEnter, "opens what is selected", "view"},
	{[]string{"esc"}, "esc", actBack, "goes back", "view"},

	{[]string{"L"}, "L", actLessons, "lists the lessons", "lesson"},
	{[]string{"n"}, "n", actNextLesson, "begins the next lesson", "lesson"},
	{[]string{"N"}, "N", actPrevLesson, "begins the one before", "lesson"},
	{[]string{"i"}, "i", actHint, "gives a hint", "lesson"},
	{[]string{"w"}, "w", actWatch, "shows how the goal is reached", "lesson"},
	{[]string{"v"}, "v", actTerms, "changes algorithms, terms, limit and traffic", "lesson"},

	{[]string{"B"}, "B", actPresent, "presenter mode: large and few", "room"},
	{[]string{"e"}, "e", actMarkdown, "saves the moment as Markdown", "room"},
	{[]string{"E"}, "E", actScenario, "saves what happened as a scenario file", "room"},
	{[]string{"y"}, "y", actCopy, "copies the Redis script of the step", "room"},
	{[]string{"t"}, "t", actTheme, "wears the next theme", "room"},
	{[]string{"m"}, "m", actMouse, "turns the mouse on or off", "room"},
	{[]string{"?"}, "?", actHelp, "shows this help", "room"},
	{[]string{"q", "ctrl+c"}, "q", actQuit, "quits", "room"},
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

// HelpMarkdown returns the table of the lab's keys for the README.
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
