package tui

import (
	"strings"
	"time"

	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// paintFooter shows, in this order of need, the filter being typed, a sentence, or
// the keys that matter most.
func (a *App) paintFooter(r cell.Rect) {
	end := r.X + r.W
	switch {
	case a.typing:
		x := a.Words(r.X+1, r.Y, end, pane.Bit("/", a.Look.Accent), pane.Bit(safetext.Clean(a.view.Filter), a.Look.Text), pane.Bit("▏", a.Look.Accent))
		a.Words(x+2, r.Y, end, pane.Bit("enter keeps it · esc clears it", a.Look.Dim))
		return
	case a.toast.text != "":
		a.Sentence(r, a.toast.text, a.toast.bad)
		return
	}
	pause := "pause"
	if a.frozen != nil {
		pause = "resume"
	}
	hint := func(key, label string, act action) pane.Hint {
		return pane.Hint{Key: key, Label: label, Do: a.doing(act)}
	}
	if p := a.o.Player; p != nil {
		if p.Playback(time.Now()).Paused {
			pause = "play"
		}
		a.Hints(r, []pane.Hint{
			hint("?", "help", actHelp), hint("p", pause, actPause), {Key: "← →", Label: "go back and on", Do: a.doing(actEarlier)}, {Key: "+ -", Label: "speed", Do: a.doing(actMore)},
			hint("R", "from the beginning", actRecord), hint("2", "grid", actScreen2), hint("4", "redis", actScreen4), hint("5", "events", actScreen5),
			hint("/", "filter", actFilter), hint("s", "sort", actSort), hint("[ ]", "zoom", actZoomOut), hint("t", "theme", actTheme), hint("q", "quit", actQuit),
		})
		return
	}
	a.Hints(r, []pane.Hint{
		hint("?", "help", actHelp), hint("1", "keys", actScreen1), hint("2", "grid", actScreen2), hint("3", "lab", actScreen3),
		hint("4", "redis", actScreen4), hint("5", "events", actScreen5), hint("p", pause, actPause), hint("/", "filter", actFilter),
		hint("s", "sort", actSort), hint("enter", "expand", actExpand), hint("tab", "pane", actNextPane), hint("space", "fire", actFire),
		hint("b", "burst", actBurst), hint("r", "rate", actRate), hint("x", "stop", actStop), hint("[ ]", "zoom", actZoomOut),
		hint("t", "theme", actTheme), hint("q", "quit", actQuit),
	})
}

// groups are the headings of the help, in their order.
var groups = []pane.Group{{Name: "fire"}, {Name: "keys"}, {Name: "time", Right: true}, {Name: "view"}}

// paintHelp lays the table of keys over the screen, and below it what the shapes mean.
func (a *App) paintHelp() {
	a.helpTop = pane.Help(&a.Paper, bindings, groups, a.legend(), a.helpTop)
}

// legend is what the shapes mean, each in its colour: the same on every screen.
func (a *App) legend() []pane.Piece {
	l := &a.Look
	sign := func(shape, meaning string, st themes.Style) pane.Piece { return pane.Bit(shape+"\t"+meaning, st) }
	full := string(l.Rise[len(l.Rise)-1])
	return []pane.Piece{
		sign(full+full+" "+l.YesMark, "admitted", l.Admitted),
		sign(string(l.Cross)+string(l.Cross)+" "+l.OverMark, "denied; a key that denies the next request", l.Denied),
		sign(l.NearMark, "near: 80 % of the limit are used, or more", l.Near),
		sign(l.OKMark+" "+l.IdleMark, "ok; at rest", l.Good),
		sign(string(l.MarkYes)+" "+string(l.MarkNo), "fired from here: admitted, denied", l.Injected),
		sign(l.BadMark+" "+figure.Unknown, "unknown: nobody can tell; never 0", l.Unknown),
		sign(l.StaleMark+" "+string(l.Gap)+string(l.Gap), "stale: as last seen; nobody was looking", l.Unknown),
		sign(full+full, "counts of the previous window", l.Previous),
		sign(string(l.Gone)+string(l.Gone), "counts no more", l.Faint),
		sign(strings.Repeat(string(l.Limit), 3), "the limit", l.Denied),
		sign(string(l.Edge)+" "+string(l.Tick), "a clock-aligned window begins", l.Dim),
		sign(l.PinMark, "pinned", l.Text),
	}
}
