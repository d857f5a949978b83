package tui

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/figure"
)

// press routes a key: ctrl+c first, then an open overlay, then a focused input, then
// the table of bindings.
func (a *App) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key == "ctrl+c" {
		return a.quit()
	}
	a.stale, a.chosen = true, true
	if a.help {
		switch act := actionOf[key]; act {
		case actDown, actPageDown:
			a.helpTop++
		case actUp, actPageUp:
			a.helpTop--
		default:
			a.help, a.helpTop = false, 0
		}
		return nil
	}
	if a.menu != nil {
		return a.pressMenu(msg)
	}
	if a.typing {
		a.typed(msg)
		return nil
	}
	return a.do(actionOf[key])
}

// typed edits the filter.
func (a *App) typed(msg tea.KeyPressMsg) {
	switch key := msg.String(); key {
	case "esc":
		a.typing = false
		a.filter("")
	case "enter":
		a.typing = false
	case "backspace":
		if runes := []rune(a.view.Filter); len(runes) > 0 {
			a.filter(string(runes[:len(runes)-1]))
		}
	case "up":
		a.move(-1)
	case "down":
		a.move(1)
	default:
		if msg.Text != "" {
			a.filter(a.view.Filter + msg.Text)
		}
	}
}

func (a *App) filter(pattern string) {
	a.view.Filter = pattern
	a.reorder()
	if len(a.rows) > 0 {
		a.selectRow(0)
	}
}

// do carries an action out. Everything that a person can do comes through here.
func (a *App) do(act action) tea.Cmd {
	a.stale = true
	if a.steer(act) {
		return a.wake()
	}
	switch act {
	case actRecord:
		return a.toggleRecording()
	case actFire:
		return a.fire(model.Shot{N: 1})
	case actBurst:
		return a.fire(model.Shot{N: a.burst})
	case actRate:
		return a.toggleRate()
	case actMore:
		return a.adjust(true)
	case actLess:
		return a.adjust(false)
	case actStop:
		a.ceaseFire()
	case actQuit:
		return a.quit()
	case actCopy:
		return a.copyRow()
	case actExport:
		a.export()
	case actHelp:
		a.help = !a.help
	case actFilter:
		a.typing = true
	case actTheme:
		a.openThemes()
	case actPalette:
		a.openPalette()
	case actScreen1:
		a.screen = dashboard
	case actScreen2:
		a.screen, a.expanded = smallMultiples, false
	case actScreen3:
		return a.openLab()
	case actScreen4:
		a.screen, a.expanded = health, false
	case actScreen5:
		a.screen, a.expanded = eventLog, false
	case actMouse:
		a.mouse = !a.mouse
		a.say(false, map[bool]string{true: "Mouse on.", false: "Mouse off: the terminal's own selection works."}[a.mouse])
	default:
		a.navigate(act)
	}
	return nil
}

// navigate does what only moves the view.
func (a *App) navigate(act action) {
	page, row := max(1, a.tableRows()-1), 1
	if a.screen == smallMultiples {
		row = max(1, a.gridCols)
		page = row * 2
	}
	switch act {
	case actUp:
		a.move(-row)
	case actDown:
		a.move(row)
	case actPageUp:
		a.move(-page)
	case actPageDown:
		a.move(page)
	case actFirst:
		a.move(-len(a.rows))
	case actLast:
		a.move(len(a.rows))
	case actExpand:
		if a.screen == dashboard {
			a.expanded = !a.expanded
		} else {
			a.screen = dashboard
		}
	case actBack:
		a.back()
	case actNextPane:
		a.focus = (a.focus + 1) % panes
	case actSort:
		a.view.Sort = a.view.Sort.Succ()
		a.view.Reverse = false
		a.reorder()
	case actReverse:
		a.view.Reverse = !a.view.Reverse
		a.reorder()
	case actPause:
		a.pause()
	case actEarlier, actLater:
		a.scrollTime(act == actEarlier)
	case actZoomIn:
		a.scope.Zoom(false)
	case actZoomOut:
		a.scope.Zoom(true)
	case actPin:
		if k := a.current(); k != nil {
			a.board.Pin(k.Reading.Key)
			if a.frozen != nil {
				a.frozen.Pin(k.Reading.Key)
			}
			a.reorder()
		}
	}
}

// back undoes the innermost thing that is open.
func (a *App) back() {
	switch {
	case a.scope.Leave():
	case a.expanded:
		a.expanded = false
	case a.screen != dashboard:
		a.screen = dashboard
	case a.view.Filter != "":
		a.filter("")
	case a.frozen != nil:
		a.pause()
	}
}

// pause freezes the picture; the board goes on underneath.
func (a *App) pause() {
	a.scope.Now()
	if a.frozen != nil {
		a.frozen = nil
	} else if a.started {
		a.board.Refresh(a.now)
		a.frozen = a.board.Freeze(a.now)
	}
	a.reorder()
}

func (a *App) scrollTime(earlier bool) {
	if a.screen == smallMultiples { // the tiles show now; the arrows choose among them
		a.move(map[bool]int{true: -1, false: 1}[earlier])
		return
	}
	if a.frozen == nil {
		a.say(false, "Press p to pause; then ← and → scroll in time.")
		return
	}
	a.scope.Scroll(earlier)
}

// reorder sorts at once: a person asked for it.
func (a *App) reorder() {
	a.rows = a.shown().Select(a.view)
	a.follow()
}

// move selects the row d further down; on the event log it scrolls.
func (a *App) move(d int) {
	if a.screen == eventLog {
		a.eventTop += d
		return
	}
	at := 0
	for i, k := range a.rows {
		if k.Reading.Key == a.selected {
			at = i + d
			break
		}
	}
	a.selectRow(at)
}

func (a *App) copyRow() tea.Cmd {
	k := a.current()
	if k == nil {
		return nil
	}
	text := rowText(k, a.fullName(k.Reading.Key))
	a.say(false, "Copied: "+text)
	return tea.SetClipboard(text)
}

func (a *App) export() {
	if a.o.Export == nil || a.shown().At == 0 {
		a.say(true, "There is nothing to export yet.")
		return
	}
	path, err := a.o.Export(a.shown().Batch())
	if err != nil {
		a.say(true, err.Error())
		return
	}
	a.say(false, "Exported to "+path)
}

// rowText is a key in one line of plain text.
func rowText(k *model.Watched, name string) string {
	g, t := &k.Gauge, k.Reading.Target
	text := name + "  " + figure.AlgorithmInFull(t.Algorithm) + "  " + usedOf(k, 11)
	if t.Window > 0 {
		text += " in " + figure.Length(t.Window)
	}
	if g.RateKnown {
		text += "  " + figure.PerSecond(g.Rate)
	}
	return text + "  next " + nextText(g, 6)
}

// fullName is a key's name as the terminal may show it.
func (a *App) fullName(key string) string {
	if a.o.Mask {
		key = safetext.Mask(key)
	}
	return safetext.Clean(key)
}

// name is fullName without the middle of a name that is wider than any screen: cleaning
// all of a name of many kilobytes, at every frame, would be dear.
func (a *App) name(key string) string {
	const end = 512
	if len(key) > 2*end && !a.o.Mask {
		key = key[:end] + key[len(key)-end:]
	}
	return a.fullName(key)
}

func (a *App) quit() tea.Cmd {
	a.ceaseFire()
	return tea.Quit
}

func (a *App) click(m tea.Mouse) tea.Cmd {
	if m.Button != tea.MouseLeft {
		return nil
	}
	a.stale = true
	if a.help {
		a.help = false
		return nil
	}
	if a.menu != nil && !a.overMenu(m) {
		return a.pressMenu(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
	if cmd, hit := a.Click(m.X, m.Y); hit {
		return cmd
	}
	if a.screen == dashboard && a.scope.Holds(m.X, m.Y) {
		a.focus = paneTimeline
		a.scope.Point(m.X)
	}
	return nil
}

func (a *App) wheel(m tea.Mouse) tea.Cmd {
	a.stale = true
	down := m.Button == tea.MouseWheelDown
	step := map[bool]int{true: 1, false: -1}[down]
	switch {
	case a.help:
		a.helpTop += step
		return nil
	case a.menu != nil:
		return a.pressMenu(tea.KeyPressMsg{Code: map[bool]rune{true: tea.KeyDown, false: tea.KeyUp}[down]})
	}
	if a.areas.timeline.Holds(m.X, m.Y) && a.frozen != nil {
		a.scrollTime(!down)
		return nil
	}
	if a.screen == eventLog {
		a.eventTop += 3 * step
		return nil
	}
	a.move(step)
	return nil
}

// drop ends a drag: the picture pauses on the stretch that was dragged over.
func (a *App) drop() {
	if !a.scope.Drop() {
		return
	}
	a.stale = true
	if a.frozen == nil {
		a.pause()
	}
	a.scope.Fit(a.shownNow())
}
