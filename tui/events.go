package tui

import (
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// event is one line of the log: an alert, or a decision about a fired request.
type event struct {
	at    limiter.Instant
	alert *model.Alert
	fired *decided
}

// paintEvents draws what happened, newest first: alerts and decisions in one order of time.
func (a *App) paintEvents(r cell.Rect) {
	in := a.Section(r, true, pane.Bit("events", a.Look.Title),
		pane.Bit(" · "+figure.Plural(len(a.shown().Alerts()), "alert")+", "+figure.Plural(len(a.decisions), "decision"), a.Look.Dim))
	list := a.events()
	if len(list) == 0 {
		a.quietSoFar(in)
		return
	}
	a.eventTop = min(max(a.eventTop, 0), max(0, len(list)-in.H))
	for i := range in.H {
		if n := len(list) - 1 - a.eventTop - i; n >= 0 {
			a.paintEvent(in.X, in.Y+i, in.X+in.W, list[n])
			a.leadsTo(cell.Rect{X: in.X, Y: in.Y + i, W: in.W, H: 1}, list[n])
		}
	}
}

// paintAlerts draws the newest alerts beside the keys; the injector has the decisions.
func (a *App) paintAlerts(r cell.Rect) {
	if r.H == 0 {
		return
	}
	in := a.Section(r, false, pane.Bit("alerts", a.Look.Title), pane.Bit(" · newest first", a.Look.Dim))
	a.Zone(r, a.doing(actScreen5))
	alerts := a.shown().Alerts()
	if len(alerts) == 0 {
		a.quietSoFar(in)
		return
	}
	for i := range min(in.H, len(alerts)) {
		e := event{at: alerts[len(alerts)-1-i].At, alert: &alerts[len(alerts)-1-i]}
		a.paintEvent(in.X, in.Y+i, in.X+in.W, e)
		a.leadsTo(cell.Rect{X: in.X, Y: in.Y + i, W: in.W, H: 1}, e)
	}
}

// leadsTo lets a click on an event select its key on the dashboard, while it is there.
func (a *App) leadsTo(r cell.Rect, e event) {
	key := ""
	if e.fired != nil {
		key = e.fired.Key
	} else {
		key = e.alert.Key
	}
	if a.shown().Key(key) == nil {
		return
	}
	a.Zone(r, func(int) tea.Cmd {
		a.screen = dashboard
		a.pick(key)
		return nil
	})
}

func (a *App) quietSoFar(in cell.Rect) {
	a.Grid.Text(in.X, in.Y, in.X+in.W, "Nothing happened yet: no key came close to its limit.", a.Look.Dim)
}

// events merges alerts and decisions by time, oldest first.
func (a *App) events() []event {
	alerts := a.shown().Alerts()
	list := make([]event, 0, len(alerts)+len(a.decisions))
	i, j := 0, 0
	for i < len(alerts) || j < len(a.decisions) {
		if j == len(a.decisions) || i < len(alerts) && alerts[i].At <= a.decisions[j].At {
			list = append(list, event{at: alerts[i].At, alert: &alerts[i]})
			i++
		} else {
			list = append(list, event{at: a.decisions[j].At, fired: &a.decisions[j]})
			j++
		}
	}
	return list
}

func (a *App) paintEvent(x, y, end int, e event) {
	if e.fired != nil {
		a.paintDecision(x, y, end, e.fired)
		x += 13
		a.Grid.Right(x, y, end, "fired from here at "+safetext.Shorten(a.name(e.fired.Key), max(8, (end-x)/3), safetext.Ellipsis), a.Look.Injected)
		return
	}
	mark, st, text := a.alertText(e.alert)
	who := a.subject(e.alert)
	x = a.Words(x, y, end, pane.Bit(figure.ClockMillis(e.at)+" ", a.Look.Dim), pane.Bit(mark+" ", st))
	column := min(max(8, (end-x)*2/5), 28)
	after := a.Grid.Text(x, y, end, safetext.Shorten(who, column, safetext.Ellipsis), a.Look.Text)
	x = max(after, min(x+column, end)) + 1
	a.Grid.Text(x, y, end, safetext.Clip(text, max(end-x, 0), safetext.Ellipsis), st)
}

// subject is whom or what an alert is about.
func (a *App) subject(e *model.Alert) string {
	switch moved := e.What == model.Appeared || e.What == model.Left; {
	case moved && e.N > 0:
		return thousands(e.N) + " keys"
	case e.Key != "" || moved:
		return a.name(e.Key)
	}
	return "the server"
}

// thousands writes a count in full, in groups of three digits.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func (a *App) alertText(e *model.Alert) (mark string, st themes.Style, text string) {
	l := &a.Look
	if l.Theme == nil { // plain text has no look
		l = &chart.Look{Glyphs: chart.Ascii, Theme: &themes.Theme{}}
	}
	switch e.What {
	case model.BecameThrottled:
		return l.OverMark, l.Denied, "is throttled"
	case model.NoLongerThrottled:
		text = "is free again after " + figure.Span(e.For)
		if e.For <= 0 { // seen throttled a single time
			text = "is free again after a moment"
		}
		if e.N > 0 {
			text += fmt.Sprintf(", %s denied", figure.Short(e.N))
		}
		return l.OKMark, l.Good, text
	case model.BecameClose:
		return l.NearMark, l.Near, "is near its limit"
	case model.BecameUnreadable:
		return l.BadMark, l.Unknown, safetext.Clean(e.Text)
	case model.Appeared:
		return l.PinMark, l.Dim, "appeared"
	case model.Left:
		return l.IdleMark, l.Dim, "left the server"
	case model.LinkLost:
		return l.OverMark, l.Denied, "is away: " + safetext.Clean(e.Text)
	}
	return l.OKMark, l.Good, "is back after " + figure.Span(e.For)
}
