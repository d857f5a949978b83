package lab

import (
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// press routes a key: ctrl+c first, then what lies over the screen, then the screen's own
// keys, then the table.
func (l *Lab) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key == "ctrl+c" {
		return tea.Quit
	}
	l.stale = true
	if l.way != nil {
		l.way = nil // it stays where it has come
		return nil
	}
	switch l.over {
	case helpOverlay:
		switch key {
		case "down", "j", "pgdown":
			l.row++
		case "up", "k", "pgup":
			l.row = max(l.row-1, 0)
		default:
			l.over = noOverlay
		}
		return nil
	case goPrompt:
		return l.typeTime(msg)
	case lessonList, termsOverlay:
		return l.pressOverlay(key)
	}
	if l.screen == quiz && l.pressQuiz(key) {
		return nil
	}
	return l.do(actionOf[key])
}

// pressOverlay moves in the list of lessons or of terms.
func (l *Lab) pressOverlay(key string) tea.Cmd {
	rows := len(l.o.Lessons)
	if l.over == termsOverlay {
		rows = len(l.terms())
	}
	switch key {
	case "up", "k":
		l.row = (l.row + rows - 1) % rows
	case "down", "j":
		l.row = (l.row + 1) % rows
	case "left", "h", "-":
		return l.turn(-1)
	case "right", "l", "space", "+", "=":
		return l.turn(1)
	case "enter":
		if l.over == termsOverlay {
			return l.turn(1)
		}
		l.over = noOverlay
		l.begin(l.row)
	case "esc", "q", "v", "L":
		l.over = noOverlay
		if l.screen == quiz {
			l.openQuiz() // anew, where the terms have changed
		}
	}
	return nil
}

// turn changes the selected term.
func (l *Lab) turn(by int) tea.Cmd {
	if list := l.terms(); l.over == termsOverlay && l.row < len(list) {
		return list[l.row].turn(by)
	}
	return nil
}

// typeTime edits the time to go to.
func (l *Lab) typeTime(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		l.over = noOverlay
	case "backspace":
		l.typed = l.typed[:max(len(l.typed)-1, 0)]
	case "enter":
		l.over = noOverlay
		d, err := readTime(l.typed)
		if err != nil {
			l.say(true, "A time is a number of seconds, or one with its unit: 9.9, 9.9s, 999ms, 1m.")
			return nil
		}
		return l.seek(l.run.Setup().Zero.Add(d))
	default:
		if t := msg.Text; len(t) == 1 && strings.Contains("0123456789.smhu", t) && len(l.typed) < 12 {
			l.typed += t
		}
	}
	return nil
}

// readTime reads seconds, or a duration with units.
func readTime(s string) (time.Duration, error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < 1e9 {
		return time.Duration(v*1e6+0.5) * time.Microsecond, nil
	}
	d, err := time.ParseDuration(s)
	return max(d, 0), err
}

// do carries an action out. Everything that a person can do comes through here.
func (l *Lab) do(act action) tea.Cmd {
	l.stale = true
	switch act {
	case actFire, actBurst, actRate, actMore, actLess, actStop:
		l.doFire(act)
	case actPlay, actStep, actStepBack, actSlower, actFaster, actGo, actRestart, actReseed, actZoomIn, actZoomOut:
		l.doTime(act)
	case actLessons, actNextLesson, actPrevLesson, actWatch, actHint, actTerms:
		l.doLesson(act)
	case actMarkdown, actScenario:
		return l.save(act == actScenario)
	case actCopy:
		return l.copyScript()
	case actPresent:
		l.big = !l.big
		switch {
		case l.big && l.screen != compare:
			l.say(false, "Presenter mode is on: press 1 to compare, which it draws large.")
		case !l.big && l.screen != compare:
			l.say(false, "Presenter mode is off.")
		}
	case actTheme:
		l.nextTheme()
	case actMouse:
		l.mouse = !l.mouse
	case actHelp:
		l.over, l.row = helpOverlay, 0
	case actQuit:
		return tea.Quit
	default:
		l.doView(act)
	}
	return nil
}

func (l *Lab) doFire(act action) {
	cost := max(l.run.Setup().Cost, 1)
	switch act {
	case actFire:
		l.run.Fire(cost)
		l.picked = -1
	case actBurst:
		for range l.burst {
			l.run.Fire(cost)
		}
		l.picked = -1
	case actRate:
		l.rate = !l.rate
		l.due = l.run.Now().Add(l.spacing())
		l.playing = l.playing || l.rate
	case actMore:
		l.burst = min(l.burst+1, 1000)
	case actLess:
		l.burst = max(l.burst-1, 1)
	case actStop:
		l.rate, l.playing = false, false
	}
}

func (l *Lab) doTime(act action) {
	switch act {
	case actPlay:
		if l.o.Still {
			l.say(false, "The clock moves by hand alone: step with the arrows, or go to a time with g.")
			return
		}
		l.playing = !l.playing
	case actStep:
		l.playing = false
		if !l.run.Step() {
			l.run.AdvanceTo(l.run.Now().Add(l.run.Setup().Limit.Window / 20))
		}
		l.picked = -1
	case actStepBack:
		l.playing, l.rate = false, false
		l.run.StepBack()
		l.picked = -1
	case actSlower:
		l.speed = max(l.speed-1, 0)
	case actFaster:
		l.speed = min(l.speed+1, len(speeds)-1)
	case actGo:
		l.over, l.typed = goPrompt, ""
	case actRestart:
		if err := l.restart(l.run.Setup()); err != nil {
			l.say(true, err.Error()+".")
		}
	case actReseed:
		l.reseed()
	case actZoomIn:
		l.zoom = max(l.zoom/2, 1)
	case actZoomOut:
		l.zoom = min(l.zoom*2, 16)
	}
}

func (l *Lab) doLesson(act action) {
	switch act {
	case actLessons:
		l.over, l.row = lessonList, l.lesson
	case actNextLesson:
		l.begin(l.lesson + 1)
	case actPrevLesson:
		l.begin(l.lesson - 1)
	case actWatch:
		l.watch()
	case actHint:
		l.hint = !l.hint
	case actTerms:
		l.over, l.row = termsOverlay, 0
	}
}

func (l *Lab) begin(i int) {
	if err := l.open(i); err != nil {
		l.say(true, "The lesson cannot be shown: "+err.Error()+".")
	}
	l.screen = lessonText
	if l.at().Goal == nil {
		l.screen = compare
	}
}

// watch restarts and plays the lesson's own solution, up to its end.
func (l *Lab) watch() {
	if err := l.restart(l.at().Setup()); err != nil {
		l.say(true, err.Error()+".")
		return
	}
	zero := l.run.Setup().Zero
	for _, s := range l.at().Solution() {
		l.run.SeekTo(zero.Add(s.At))
		for range s.Repeat {
			if s.Cost > 0 {
				l.run.Fire(s.Cost)
			}
		}
	}
	l.screen = compare
	l.say(false, "This is one way. Step back with ← to see it move; R restarts for a try of your own.")
}

func (l *Lab) doView(act action) {
	switch act {
	case actCompare:
		l.screen = compare
	case actInspect:
		l.screen = inspector
	case actQuiz:
		l.openQuiz()
	case actLesson:
		l.screen = lessonText
	case actNextScreen:
		if l.screen = (l.screen + 1) % screens; l.screen == quiz {
			l.openQuiz()
		}
	case actEnter:
		switch l.screen {
		case compare:
			l.screen = inspector
		case lessonText:
			l.screen = compare
		}
	case actBack:
		l.screen = compare
	case actAlgorithm:
		l.focus = (l.focus + 1) % len(l.run.Setup().Contenders)
	case actUp:
		l.move(-1)
	case actDown:
		l.move(1)
	}
}

// move selects the contender or the request above or below.
func (l *Lab) move(by int) {
	n := len(l.run.Setup().Contenders)
	switch l.screen {
	case compare:
		l.focus = (l.focus + by + n) % n
	case inspector:
		at := l.inspected() + by
		l.picked = max(at, 0)
		if at >= l.run.Decided() {
			l.picked = -1
		}
	case lessonText:
		l.text = max(l.text+by, 0)
	}
}

func (l *Lab) nextTheme() {
	names := l.shelf.Names()
	for i, name := range names {
		if name == l.Look.Name {
			if t, err := l.shelf.Find(names[(i+1)%len(names)]); err == nil {
				l.dress(t)
				l.fixedTheme = true
				l.say(false, "Theme: "+t.Name+".")
			}
			return
		}
	}
}
