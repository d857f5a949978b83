package lab

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
)

// The smallest terminal that the lab is drawn on, and the size from which it has room for
// pictures beside the lanes.
const (
	minWidth, minHeight   = 60, 20
	wideWidth, wideHeight = 110, 30
)

// zone is a part of the screen that answers a click at a column of its own.
type zone struct {
	r  cell.Rect
	do func(x int) tea.Cmd
}

// piece is a text in one style.
type piece struct {
	text  string
	style themes.Style
}

// View returns the screen. It repaints only when something changed since the last call.
func (l *Lab) View() tea.View {
	if l.stale {
		l.stale = false
		l.paint()
		l.frame = l.grid.String()
	}
	v := tea.NewView(l.frame)
	v.AltScreen = true
	v.WindowTitle = "ratescope lab " + safetext.Clip(safetext.Clean(l.at().Title), 60, safetext.Ellipsis)
	if l.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

func (l *Lab) wide() bool { return l.w >= wideWidth && l.h >= wideHeight }

func (l *Lab) paint() {
	g := &l.grid
	l.zones = l.zones[:0]
	g.Clear(g.Bounds())
	if l.w < minWidth || l.h < minHeight {
		need := fmt.Sprintf("ratescope lab needs %dx%d, this is %dx%d", minWidth, minHeight, l.w, l.h)
		g.Text(0, 0, l.w, need, l.look.Near)
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
	l.paintSeek(seek)
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

// words writes pieces of text one after the other and returns the column after them.
func (l *Lab) words(x, y, end int, pieces ...piece) int {
	for _, p := range pieces {
		x = l.grid.Text(x, y, end, p.text, p.style)
	}
	return x
}

// section draws what surrounds a pane and returns the room inside: a box with the title
// in its top line, or where room is short a rule above.
func (l *Lab) section(r cell.Rect, focused bool, pieces ...piece) cell.Rect {
	if r.H == 0 || r.W < 4 {
		return cell.Rect{}
	}
	line := l.look.Border
	if focused {
		line = l.look.Accent
	}
	inside := cell.Rect{X: r.X + 1, Y: r.Y + 1, W: max(r.W-2, 0), H: r.H - 1}
	if l.wide() {
		l.look.Box.Frame(&l.grid, r, line)
		inside = cell.Rect{X: r.X + 2, Y: r.Y + 1, W: max(r.W-4, 0), H: max(r.H-2, 0)}
	} else {
		l.grid.Fill(r.X, r.Y, r.W, l.look.Box.H, line)
	}
	l.grid.Set(r.X+1, r.Y, ' ', line)
	x := l.words(r.X+2, r.Y, r.X+r.W-3, pieces...)
	l.grid.Set(x, r.Y, ' ', line)
	return inside
}

// zone lets a rectangle answer clicks.
func (l *Lab) zone(r cell.Rect, do func(x int) tea.Cmd) { l.zones = append(l.zones, zone{r, do}) }

// story writes the time of the story.
func story(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// paintHeader says what is taught, where the clock stands, and how far the goal is.
func (l *Lab) paintHeader(r cell.Rect) {
	end := r.X + r.W
	badge, style := "PAUSED", l.look.BadgeWarn
	if l.playing {
		badge, style = "RUNS", l.look.BadgeLive
	}
	x := l.words(r.X, r.Y, end, piece{" ratescope lab ", l.look.Title}, piece{" " + badge + " ", style})
	clock := story(l.run.Elapsed())
	s := l.run.Setup()
	facts := fmt.Sprintf("%gx · limit %d in %s", speeds[l.speed], s.Limit.Count, figure.Length(s.Limit.Window))
	if s.Limit.Count == 0 {
		facts = fmt.Sprintf("%gx · count only in %s", speeds[l.speed], figure.Length(s.Limit.Window))
	}
	if s.Cost > 1 {
		facts += fmt.Sprintf(" · cost %d", s.Cost)
	}
	if l.wide() {
		facts += fmt.Sprintf(" · seed %d", l.seed)
	}
	at := end - len(clock) - 1
	l.grid.Text(at, r.Y, end, clock, l.look.Title)
	at -= safetext.Width(facts) + 2
	l.grid.Text(max(at, x), r.Y, end-len(clock)-2, facts, l.look.Dim)
	title := safetext.Clean(l.at().Title)
	if n := len(l.o.Lessons); n > 1 {
		title = fmt.Sprintf("%d/%d %s", l.lesson+1, n, title)
	}
	l.grid.Text(x+1, r.Y, at-1, safetext.Clip(title, max(at-x-2, 0), safetext.Ellipsis), l.look.Text)
	l.paintGoal(r.X+1, r.Y+1, end-1)
}

// paintGoal is the task in one line, and how far it is.
func (l *Lab) paintGoal(x, y, end int) {
	g := l.at().Goal
	if g == nil {
		l.grid.Text(x, y, end, "no task here: fire with space, step with the arrows, change the terms with v", l.look.Dim)
		return
	}
	p := l.goal()
	if p.Reached {
		l.words(x, y, end, piece{l.look.YesMark + " reached at " + lab.Seconds(p.At.Sub(l.run.Setup().Zero)), l.look.Good.With(themes.Bold)}, piece{"  " + safetext.Clean(g.Then), l.look.Text})
		return
	}
	if l.hint {
		l.words(x, y, end, piece{"hint ", l.look.Accent}, piece{safetext.Clean(g.Hint), l.look.Text})
		return
	}
	text := "  " + p.Text
	at := l.words(x, y, end, piece{l.look.NearMark + " ", l.look.Near}, piece{safetext.Clip(safetext.Clean(g.Say), end-x-2, safetext.Ellipsis), l.look.Text})
	if at+safetext.Width(text) <= end {
		l.grid.Text(at, y, end, text, l.look.Dim)
	}
}

// length is how much of the story the seek bar shows.
func (l *Lab) length() time.Duration {
	return max(l.at().Length(), l.run.Elapsed())
}

// paintSeek is the whole story in one line: where it stands, and what was fired by hand.
func (l *Lab) paintSeek(r cell.Rect) {
	x, w := r.X+1, r.W-2
	all := l.length()
	place := func(d time.Duration) int { return x + min(int(float64(w-1)*float64(d)/float64(all)), w-1) }
	l.grid.Fill(x, r.Y, w, l.look.Axis, l.look.Faint)
	s := l.run.Setup()
	for d := s.Limit.Window; d < all && all/s.Limit.Window < time.Duration(w/2); d += s.Limit.Window {
		l.grid.Set(place(d), r.Y, l.look.Tick, l.look.Dim)
	}
	l.grid.Fill(x, r.Y, place(l.run.Elapsed())-x, l.look.Axis, l.look.Accent)
	from := max(l.run.Decided()-20_000, 0)
	for i := from; i < l.run.Decided(); i++ {
		a, v := l.run.Arrival(i)
		if !a.Fired {
			continue
		}
		mark := l.look.MarkYes
		if !v.Allowed(l.focus) {
			mark = l.look.MarkNo
		}
		l.grid.Set(place(a.At.Sub(s.Zero)), r.Y, mark, l.look.Injected)
	}
	l.grid.Set(place(l.run.Elapsed()), r.Y, '●', l.look.Title)
	if l.o.ASCII {
		l.grid.Set(place(l.run.Elapsed()), r.Y, 'O', l.look.Title)
	}
	l.zone(cell.Rect{X: x, Y: r.Y, W: w, H: 1}, func(at int) tea.Cmd {
		l.seek(s.Zero.Add(time.Duration(float64(all) * float64(at) / float64(max(w-1, 1)))))
		return nil
	})
}

// hint is a key with what it does, for the footer.
type hint struct {
	key, label string
	act        action
}

func (l *Lab) paintFooter(r cell.Rect) {
	end := r.X + r.W
	switch {
	case l.over == goPrompt:
		x := l.words(r.X+1, r.Y, end, piece{"go to ", l.look.Accent}, piece{l.typed, l.look.Text}, piece{"_", l.look.Accent})
		l.words(x+2, r.Y, end, piece{"seconds, or 999ms, 1m · enter goes · esc stays", l.look.Dim})
		return
	case l.toast.text != "":
		st := l.look.Text
		if l.toast.bad {
			st = l.look.Denied
		}
		l.grid.Text(r.X+1, r.Y, end, safetext.Clip(safetext.Clean(l.toast.text), r.W-2, safetext.Ellipsis), st)
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
	hints := []hint{
		{"?", "help", actHelp}, {"p", play, actPlay}, {"←→", "step", actStep}, {"space", "fire", actFire},
		{"b", fmt.Sprintf("burst %d", l.burst), actBurst}, {"r", rate, actRate}, {"g", "go to", actGo}, {"R", "restart", actRestart},
		{"tab", "screen", actNextScreen}, {"v", "terms", actTerms}, {"n", "next", actNextLesson}, {"i", "hint", actHint},
		{"L", "lessons", actLessons}, {"<>", "speed", actFaster}, {"B", "present", actPresent}, {"e", "export", actMarkdown}, {"q", "quit", actQuit},
	}
	if l.o.ASCII {
		hints[2].key = "h l"
	}
	x := r.X + 1
	for _, h := range hints {
		width := safetext.Width(h.key) + 1 + safetext.Width(h.label)
		if x+width > end {
			break
		}
		l.words(x, r.Y, end, piece{h.key, l.look.Accent}, piece{" " + h.label, l.look.Dim})
		l.zone(cell.Rect{X: x, Y: r.Y, W: width, H: 1}, func(int) tea.Cmd { return l.do(h.act) })
		x += width + 2
	}
}

// overlay draws a panel over the middle of the screen and returns the room inside.
func (l *Lab) overlay(w, h int, title, foot string) cell.Rect {
	r := cell.Rect{W: min(w, l.w-2), H: min(h, l.h-2)}
	r.X, r.Y = (l.w-r.W)/2, (l.h-r.H)/2
	raised := l.look.Raised
	l.grid.Clear(r)
	l.grid.Tint(r, raised)
	l.look.Box.Frame(&l.grid, r, l.look.Accent.On(raised))
	l.grid.Text(r.X+2, r.Y, r.X+r.W-2, " "+title+" ", l.look.Title.On(raised))
	l.grid.Right(r.X+2, r.Y+r.H-1, r.X+r.W-2, " "+foot+" ", l.look.Dim.On(raised))
	return cell.Rect{X: r.X + 2, Y: r.Y + 1, W: r.W - 4, H: r.H - 2}
}

// groups are the headings of the help, in their order, and whether a new column begins.
var groups = []struct {
	name  string
	right bool
}{{"fire", false}, {"time", false}, {"view", true}, {"lesson", false}, {"room", false}}

// helpLines are the keys as lines, in one column or two; a line without keys is a heading.
func (l *Lab) helpLines(two bool) [2][]binding {
	var columns [2][]binding
	at := 0
	for _, group := range groups {
		if two && group.right {
			at = 1
		}
		columns[at] = append(columns[at], binding{What: group.name})
		for _, b := range bindings {
			if b.Group == group.name {
				columns[at] = append(columns[at], b)
			}
		}
	}
	return columns
}

// paintHelp lays the table of keys over the screen; what finds no room scrolls.
func (l *Lab) paintHelp() {
	const width = 54
	two := l.w >= 2*width+6
	columns := l.helpLines(two)
	cols, rows, foot := 1, len(columns[0]), "↑↓ scrolls · any other key closes"
	if two {
		cols, rows = 2, max(rows, len(columns[1]))
	}
	if l.h-4 >= rows {
		foot = "any key closes"
	}
	in := l.overlay(cols*width+2, rows+2, "keys", foot)
	l.row = max(min(l.row, rows-in.H), 0)
	raised := l.look.Raised
	for at, list := range columns[:cols] {
		x := in.X + at*width
		end := min(x+width-1, in.X+in.W)
		for i, b := range list[min(l.row, len(list)):] {
			y := in.Y + i
			if i >= in.H {
				break
			}
			if len(b.Keys) == 0 {
				l.grid.Text(x, y, end, b.What, l.look.Accent.On(raised))
				continue
			}
			shown := b.Shown
			if l.o.ASCII {
				shown = strings.Join(b.Keys[:min(len(b.Keys), 2)], " ")
			}
			l.grid.Text(x+1, y, end, shown, l.look.Title.On(raised))
			l.grid.Text(x+9, y, end, b.What, l.look.Text.On(raised))
		}
	}
}
