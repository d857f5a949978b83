package lab

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// The smallest terminal that the lab is drawn on, and the size from which it has room for
// pictures beside the lanes.
const (
	minWidth, minHeight   = 60, 20
	wideWidth, wideHeight = 110, 30
)

// View returns the screen. It repaints only when something changed since the last call.
func (l *Lab) View() tea.View {
	if l.stale {
		l.stale = false
		l.paint()
		l.frame = l.Grid.String()
	}
	v := tea.NewView(l.frame)
	v.AltScreen = true
	v.WindowTitle = "ratescope lab " + safetext.Clip(safetext.Clean(l.at().Title), 60, safetext.Ellipsis)
	if l.way != nil {
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*l.way.done(l.run.Now())))
	}
	if l.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

func (l *Lab) paint() {
	g := &l.Grid
	l.Begin()
	l.Framed = l.w >= wideWidth && l.h >= wideHeight
	if l.w < minWidth || l.h < minHeight {
		l.TooSmall("ratescope lab", minWidth, minHeight)
		g.Text(0, 1, l.w, l.remark, l.Look.BadgeWarn)
		return
	}
	header, rest := g.Bounds().Top(2)
	body, foot := rest.Top(rest.H - 2)
	seek, footer := foot.Top(1)
	l.paintHeader(header)
	switch l.screen {
	case inspector:
		l.paintInspector(body)
	case quiz:
		l.paintQuiz(body)
	case lessonText:
		l.paintLesson(body)
	default:
		l.paintCompare(body)
	}
	l.seekBar = cell.Rect{}
	if l.screen != quiz { // which has a story of its own
		l.paintSeek(seek)
	}
	l.paintFooter(footer)
	switch l.over {
	case helpOverlay:
		l.paintHelp()
	case lessonList:
		l.paintLessons()
	case termsOverlay:
		l.paintTerms()
	}
}

// story writes the time of the story.
func story(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// paintHeader says what is taught, where the clock stands, and how far the goal is.
func (l *Lab) paintHeader(r cell.Rect) {
	end := r.X + r.W
	badge, style := "PAUSED", l.Look.BadgeWarn
	if l.playing {
		badge, style = "RUNS", l.Look.BadgeLive
	}
	x := l.Words(r.X, r.Y, end, pane.Bit(" ratescope lab ", l.Look.Title), pane.Bit(" "+badge+" ", style))
	clock := story(l.run.Elapsed())
	if l.screen == quiz && l.ask != nil {
		clock = story(l.ask.Run.Elapsed())
	}
	s := l.run.Setup()
	facts := fmt.Sprintf("%gx · limit %d in %s", speeds[l.speed], s.Limit.Count, figure.Length(s.Limit.Window))
	if s.Limit.Count == 0 {
		facts = fmt.Sprintf("%gx · count only in %s", speeds[l.speed], figure.Length(s.Limit.Window))
	}
	if s.Cost > 1 {
		facts += fmt.Sprintf(" · cost %d", s.Cost)
	}
	if l.Framed {
		facts += fmt.Sprintf(" · seed %d", l.seed)
	}
	at := end - len(clock) - 1
	l.Grid.Text(at, r.Y, end, clock, l.Look.Title)
	at -= safetext.Width(facts) + 2
	l.Grid.Text(max(at, x), r.Y, end-len(clock)-2, facts, l.Look.Dim)
	title := safetext.Clean(l.at().Title)
	if n := len(l.o.Lessons); n > 1 {
		title = fmt.Sprintf("%d/%d %s", l.lesson+1, n, title)
	}
	l.Grid.Text(x+1, r.Y, at-1, safetext.Clip(title, max(at-x-2, 0), safetext.Ellipsis), l.Look.Text)
	if l.remark != "" {
		text := safetext.ClipWords(" "+l.remark+" ", r.W/2, safetext.Ellipsis)
		end -= safetext.Width(text) + 1
		l.Grid.Text(end, r.Y+1, r.X+r.W, text, l.Look.BadgeWarn)
	}
	l.paintGoal(r.X+1, r.Y+1, end-1)
}

// paintGoal is the task in one line, and how far it is.
func (l *Lab) paintGoal(x, y, end int) {
	g, p := l.at().Goal, l.goal()
	switch {
	case l.screen == quiz:
		l.Grid.Text(x, y, end, "predict each decision before it is made; the score is kept for every algorithm", l.Look.Dim)
	case g == nil:
		l.Grid.Text(x, y, end, "no task here: fire with space, step with the arrows, change the terms with v", l.Look.Dim)
	case p.Reached:
		at := l.Words(x, y, end, pane.Bit(l.Look.YesMark+" reached at "+lab.Seconds(p.At.Sub(l.run.Setup().Zero))+"  ", l.Look.Good.With(themes.Bold)))
		l.Grid.Text(at, y, end, safetext.Clip(safetext.Clean(g.Then), end-at, safetext.Ellipsis), l.Look.Text)
	case l.hint:
		l.Words(x, y, end, pane.Bit("hint ", l.Look.Accent), pane.Bit(safetext.Clean(g.Hint), l.Look.Text))
	case l.screen == lessonText:
		l.Grid.Text(x, y, end, "read this, then press enter and try it", l.Look.Dim)
	default:
		say := safetext.Clean(g.Say)
		at := l.Words(x, y, end, pane.Bit(l.Look.NearMark+" ", l.Look.Near))
		switch room := end - at; {
		case safetext.Width(say)+2+safetext.Width(p.Text) <= room:
			at = l.Grid.Text(at, y, end, say, l.Look.Text)
			l.Grid.Text(at+2, y, end, p.Text, l.Look.Dim)
		case l.run.Decided() > 0: // the task is known by now
			l.Grid.Text(at, y, end, safetext.Clip(p.Text, room, safetext.Ellipsis), l.Look.Text)
		default:
			l.Grid.Text(at, y, end, safetext.Clip(say, room, safetext.Ellipsis), l.Look.Text)
		}
	}
}

// length is how much of the story the seek bar shows.
func (l *Lab) length() time.Duration {
	all := max(l.at().Length(), l.run.Elapsed())
	if l.recorded {
		all = max(all, l.o.Trace.Length())
	}
	return all
}

// paintSeek is the whole story in one line: where it stands, and what was fired by hand.
func (l *Lab) paintSeek(r cell.Rect) {
	x, w := r.X+1, r.W-2
	all := l.length()
	place := func(d time.Duration) int { return x + min(int(float64(w-1)*float64(d)/float64(all)), w-1) }
	l.Grid.Fill(x, r.Y, w, l.Look.Axis, l.Look.Faint)
	s := l.run.Setup()
	for d := s.Limit.Window; d < all && all/s.Limit.Window < time.Duration(w/2); d += s.Limit.Window {
		l.Grid.Set(place(d), r.Y, l.Look.Tick, l.Look.Dim)
	}
	l.Grid.Fill(x, r.Y, place(l.run.Elapsed())-x, l.Look.Axis, l.Look.Accent)
	from := max(l.run.Decided()-20_000, 0)
	for i := from; i < l.run.Decided(); i++ {
		a, v := l.run.Arrival(i)
		if !a.Fired {
			continue
		}
		mark := l.Look.MarkYes
		if !v.Allowed(l.focus) {
			mark = l.Look.MarkNo
		}
		l.Grid.Set(place(a.At.Sub(s.Zero)), r.Y, mark, l.Look.Injected)
	}
	l.Grid.Set(place(l.run.Elapsed()), r.Y, '●', l.Look.Title)
	if l.o.ASCII {
		l.Grid.Set(place(l.run.Elapsed()), r.Y, 'O', l.Look.Title)
	}
	l.seekBar = cell.Rect{X: x, Y: r.Y, W: w, H: 1}
	l.Zone(l.seekBar, func(at int) tea.Cmd {
		return l.seek(s.Zero.Add(time.Duration(float64(all) * float64(at) / float64(max(w-1, 1)))))
	})
}

func (l *Lab) paintFooter(r cell.Rect) {
	end := r.X + r.W
	switch {
	case l.way != nil:
		l.paintWay(r)
		return
	case l.over == goPrompt:
		x := l.Words(r.X+1, r.Y, end, pane.Bit("go to ", l.Look.Accent), pane.Bit(l.typed, l.Look.Text), pane.Bit("_", l.Look.Accent))
		l.Words(x+2, r.Y, end, pane.Bit("seconds, or 999ms, 1m · enter goes · esc stays", l.Look.Dim))
		return
	case l.over == termsOverlay && meanings[l.selectedTerm()] != "":
		l.Sentence(r, meanings[l.selectedTerm()], false)
		return
	case l.toast.text != "":
		l.Sentence(r, l.toast.text, l.toast.bad)
		return
	}
	play := "run"
	if l.playing {
		play = "pause"
	}
	rate := "rate"
	if l.rate {
		rate = "stop"
	}
	hint := func(key, label string, act action) pane.Hint {
		return pane.Hint{Key: key, Label: label, Do: func(int) tea.Cmd { return l.do(act) }}
	}
	if l.screen == quiz {
		l.Hints(r, append(l.quizHints(), hint("?", "help", actHelp), hint("tab", "screen", actNextScreen), hint("v", "terms", actTerms), hint("q", "quit", actQuit)))
		return
	}
	hints := []pane.Hint{
		hint("?", "help", actHelp), hint("p", play, actPlay), hint("←→", "step", actStep), hint("space", "fire", actFire),
		hint("b", fmt.Sprintf("burst %d", l.burst), actBurst), hint("r", rate, actRate), hint("g", "go to", actGo), hint("R", "restart", actRestart),
		hint("tab", "screen", actNextScreen), hint("v", "terms", actTerms), hint("n", "next", actNextLesson), hint("i", "hint", actHint),
		hint("L", "lessons", actLessons), hint("<>", "speed", actFaster), hint("B", "present", actPresent), hint("e", "export", actMarkdown), hint("q", "quit", actQuit),
	}
	if l.o.ASCII {
		hints[2].Key = "h l"
	}
	if l.at().Goal != nil && l.goal().Reached && len(l.o.Lessons) > 1 {
		hints = slices.DeleteFunc(hints, func(h pane.Hint) bool { return h.Key == "n" })
		hints = append([]pane.Hint{hint("n", "next lesson", actNextLesson)}, hints...)
	}
	l.Hints(r, hints)
}

// groups are the headings of the help, in their order.
var groups = []pane.Group{{Name: "fire"}, {Name: "time"}, {Name: "view", Right: true}, {Name: "lesson"}, {Name: "room"}}

// paintHelp lays the table of keys and the signs over the screen; what finds no room
// scrolls.
func (l *Lab) paintHelp() {
	sign := func(shape rune, meaning string, st themes.Style) pane.Piece {
		return pane.Bit(string(shape)+"\t"+meaning, st)
	}
	look := l.Look
	l.row = pane.Help(&l.Paper, bindings, groups, []pane.Piece{
		sign(look.Rise[len(look.Rise)-1], "admitted", look.Admitted),
		sign(look.Cross, "denied", look.Denied),
		sign(look.MarkYes, "yours, admitted", look.Injected),
		sign(look.MarkNo, "yours, denied", look.Injected),
		sign(l.wrong(true), "admitted, and the exact log denies it", look.Near),
		sign(l.wrong(false), "denied, and the exact log admits it", look.Near),
		sign(look.Room, "still to come", look.Text),
		sign(look.Edge, "a window on the clock begins", look.Dim),
	}, l.row)
}
