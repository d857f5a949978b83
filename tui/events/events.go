package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// event is one line of the log: an alert, a decision about a fired request, or a moment that a person marked.
type event struct {
	at    limiter.Instant
	key   string // that it is about; "" the server
	alert *model.Alert
	fired *firing.Decision
	mark  *record.Marker // of a replay

	lasted, now   time.Duration // of a key that became throttled: until it was last throttled, or until now; and since its last break
	breaks, still bool          // it was free in between; it is throttled now
}

// marker returns the event as it is exported.
func (e *event) marker() record.Marker {
	switch {
	case e.mark != nil:
		return *e.mark
	case e.fired != nil:
		d := e.fired
		text := "fired from here: " + d.Outcome.String()
		if d.N > 1 {
			text += fmt.Sprintf(", %d times", d.N)
		}
		return record.Marker{At: e.at, Kind: record.MarkerFired, Key: d.Key, Text: text}
	}
	return record.Marker{At: e.at, Kind: record.MarkerEvent, Key: e.alert.Key, Text: session.EventText(e.alert)}
}

// PaintRecent draws the newest alerts in a pane of another screen.
func PaintRecent(p *widget.Canvas, r cell.Rect, s *session.Session) {
	v := view{p, s}
	in := p.Section(r, false, widget.Styled("alerts", p.Look.Title), widget.Styled(" · newest first", p.Look.Dim))
	p.OnClick(r, func(int) tea.Cmd { return s.Shell.Show("events") })
	alerts := s.Shown.Board().Alerts()
	if len(alerts) == 0 {
		v.quietSoFar(in)
		return
	}
	list := make([]event, 0, mostRecent)
	for i := range min(mostRecent, len(alerts)) {
		a := &alerts[len(alerts)-1-i]
		list = append(list, event{at: a.At, key: a.Key, alert: a})
	}
	v.measure(list)
	list = fold(list)
	list = list[:min(len(list), max(in.H, 0))]
	who := v.whoColumns(list, in.W)
	for i, e := range list {
		v.paintEvent(in.X, in.Y+i, in.X+in.W, who, e)
		if s.Shown.Board().Key(e.key) != nil {
			p.OnClick(cell.Rect{X: in.X, Y: in.Y + i, W: in.W, H: 1}, func(int) tea.Cmd { return lead(s, e) })
		}
	}
}

// mostRecent is how many alerts are looked at for a pane of another screen.
const mostRecent = 200

func (v view) quietSoFar(in cell.Rect) {
	lines := []string{"Nothing happened yet: no key came close to its limit."}
	switch t := v.s.Shown.Board().Totals(); {
	case v.s.Shown.Age() > 0:
		lines = []string{"No alert up to this moment.", "What was before watching began is not known."}
	case t.Keys > 0 && t.Unknown+t.Likely == t.Keys:
		lines[0] = "Nothing happened yet, and no limit is known."
	}
	v.c.Lines(in, v.c.Look.Dim, lines...)
}

// events merges the alerts, decisions and markers that fit the filter by time, newest first.
func (v view) events() []event {
	alerts, decisions := v.s.Shown.Board().Alerts(), v.s.Orders.Decisions
	list := make([]event, 0, len(alerts)+len(decisions))
	i, j := len(alerts)-1, len(decisions)-1
	for i >= 0 || j >= 0 {
		if j < 0 || i >= 0 && alerts[i].At > decisions[j].At {
			list = append(list, event{at: alerts[i].At, key: alerts[i].Key, alert: &alerts[i]})
			i--
		} else {
			list = append(list, event{at: decisions[j].At, key: decisions[j].Key, fired: &decisions[j]})
			j--
		}
	}
	v.measure(list)
	if v.s.Rows.Filter() == "" {
		list = fold(list)
	}
	list = withMarks(list, slices.Concat(v.s.Marks.Set, v.told()))
	return slices.DeleteFunc(list, func(e event) bool { return !v.fits(&e) })
}

// withMarks returns the list with an event for each marker, above all that is older. The others keep the order in which they
// came, also where the server's clock was set back.
func withMarks(list []event, marks []record.Marker) []event {
	slices.SortStableFunc(marks, func(x, y record.Marker) int { return cmp.Compare(y.At, x.At) })
	all, next := make([]event, 0, len(list)+len(marks)), 0
	for _, e := range append(list, event{}) { // the last one is older than every marker
		for ; next < len(marks) && marks[next].At > e.at; next++ {
			all = append(all, event{at: marks[next].At, key: marks[next].Key, mark: &marks[next]})
		}
		all = append(all, e)
	}
	return all[:len(all)-1]
}

// fold returns the list with one event in place of several keys that appeared, left, or became unreadable for
// one reason, within a minute and are named alike but for the last part.
func fold(list []event) []event {
	type wave struct {
		what   model.AlertKind
		minute limiter.Instant
		prefix string
		why    string
	}
	folds := []model.AlertKind{model.Appeared, model.Left, model.BecameUnreadable}
	newest := map[wave]int{} // place of the one that tells of all
	shown := list[:0]
	for _, e := range list {
		if a := e.alert; a != nil && a.Key != "" && slices.Contains(folds, a.What) {
			w := wave{a.What, a.At.Floor(time.Minute), a.Key[:strings.LastIndexAny(a.Key, ":/|.")+1], a.Text}
			if i, there := newest[w]; there {
				all := shown[i].alert
				all.Key, all.N, all.Pattern, shown[i].key = "", max(all.N, 1)+1, w.prefix+"*", ""
				continue
			}
			e.alert = new(*a)
			newest[w] = len(shown)
		}
		shown = append(shown, e)
	}
	return shown
}

// told are the alerts of the configuration and their deliveries up to the moment on screen.
func (v view) told() []record.Marker {
	return slices.DeleteFunc(slices.Clone(v.s.Alerts.Told), func(m record.Marker) bool { return m.At > v.s.Shown.At() })
}

// measure says of the keys that became throttled for how long they were.
func (v view) measure(list []event) {
	for i := range list {
		e := &list[i]
		if e.alert == nil || e.alert.Key == "" || e.alert.What != model.BecameThrottled {
			continue
		}
		e.lasted, e.breaks = e.alert.For, e.alert.OnAndOff
		if k := v.s.Shown.Board().Key(e.alert.Key); k != nil && !e.alert.Ended {
			e.lasted, e.now, e.still = k.Throttled(v.s.Shown.At())
			e.breaks = e.now < e.lasted
		}
	}
}

// fits reports whether an event is to be listed: the filter is of its key or of its words.
func (v view) fits(e *event) bool {
	words := "fired from here"
	switch {
	case e.mark != nil:
		words = string(e.mark.Kind) + " " + e.mark.Text
	case e.alert != nil:
		words = session.Subject(e.alert, v.s.Names.Of) + " " + session.AlertText(e.alert)
	}
	return v.s.Rows.Fits(e.key, words)
}

// narrow is the width of a log below which its times are in seconds.
const narrow = 64

// roomForWords is what the words of most events take.
const roomForWords = 32

// whoColumns returns how many columns the names of listed events have in a log of so many: at least what short names need, so that the
// words of most logs stand in one place; more where a name is longer and leaves the words their room.
func (v view) whoColumns(list []event, columns int) int {
	clock := collect.If(columns < narrow, "15:04:05", "15:04:05.000")
	room, longest, words := columns-len(clock+" x "), 0, 0
	for i := range list {
		if e := &list[i]; e.fired == nil {
			l := v.lineOf(e)
			longest, words = max(longest, safetext.Width(l.who)), max(words, safetext.Width(l.brief))
		}
	}
	least := min(max(8, room*2/5), 28)
	return min(max(longest, least), max(least, room-1-min(words, roomForWords)))
}

// who is what an event is about.
func (v view) who(e *event) string {
	if e.alert != nil {
		return session.Subject(e.alert, v.s.Names.Of)
	}
	return v.s.Names.Of(e.key)
}

// paintEvent draws an event in the columns from x to end, of which so many are for what it is about.
func (v view) paintEvent(x, y, end, who int, e event) {
	if e.fired != nil {
		room := end - PaintDecision(v.c, x, y, end, e.fired) - 2
		name := v.s.Names.Of(e.fired.Key)
		v.c.Buffer.Right(x, y, end, format.First(room, "fired from here at "+name, "at "+name,
			safetext.Shorten(name, max(room, 0), safetext.Ellipsis)), v.c.Look.Injected)
		return
	}
	v.paintLine(x, y, end, who, e.at, v.lineOf(&e))
}

// lineOf returns what stands behind the time of an alert or a moment that a person marked.
func (v view) lineOf(e *event) line {
	if e.mark != nil {
		text := cmp.Or(safetext.Sentence(e.mark.Text), "marked")
		l := line{mark: string(v.c.Look.Flag), style: v.c.Look.Title, who: v.who(e), text: text, brief: text}
		if e.mark.Kind == record.MarkerAlert {
			l.mark, l.style = v.c.Look.OverMark, v.c.Look.Near
		}
		return l
	}
	mark, st := v.alertMark(e.alert)
	short := *e.alert
	if short.Limit = (limiter.Limit{}); short.What == model.NoLongerThrottled && short.Key != "" {
		short.N = 0 // how many were denied
	}
	l := line{mark: mark, style: st, who: v.who(e), text: e.words(e.alert), brief: e.words(&short)}
	if e.breaks { // the lane says by which limit
		l.text = l.brief
		l.brief = "throttled on and off, " + format.Span(e.lasted)
		if e.still {
			l.brief, l.least = "is throttled on and off, "+begun(e.now)+" now", "is throttled, for "+begun(e.now)+" now"
		}
	}
	return l
}

// words says what an alert is about, as it is now.
func (e *event) words(a *model.Alert) string {
	text := session.AlertText(a)
	past, least := strings.Replace(text, "is", "was", 1), collect.If(a.Since, "at least ", "")
	switch one := a.What == model.BecameThrottled && a.Key != ""; {
	case !one || e.lasted < 0:
		return text
	case e.still && e.breaks:
		return text + " on and off for " + least + begun(e.lasted) + ", " + begun(e.now) + " now"
	case e.still:
		return text + ", for " + least + begun(e.now) + " now"
	case e.lasted < time.Second && !a.Since:
		return past + " for a moment"
	case e.breaks:
		past += " on and off"
	}
	return past + " for " + least + format.Wait(e.lasted)
}

// begun writes a length of time that goes on, by the second that has begun.
func begun(d time.Duration) string { return format.Length(d.Truncate(time.Second) + time.Second) }

// line is what stands behind the time of an event.
type line struct {
	mark  string
	style themes.Style
	who   string
	text  string
	brief string // the text where there is no room for its figures
	least string // and where there is no room for that; "" the brief one, cut
}

func (v view) paintLine(x, y, end, who int, at limiter.Instant, l line) {
	clock := format.ClockMillis(at)
	if end-x < narrow { // the words need the room of the milliseconds
		clock = format.Clock(at)
	}
	x = v.c.Spans(x, y, end, widget.Styled(clock+" ", v.c.Look.Dim), widget.Styled(l.mark+" ", l.style))
	after := v.c.Buffer.Text(x, y, end, v.s.Names.Families().Shorten(l.who, who, safetext.Ellipsis), v.c.Look.Text)
	if x = max(after, min(x+who, end)) + 1; safetext.Width(l.brief) > end-x {
		x = after + 1 // the words come first, then that they stand below each other
	}
	text := cmp.Or(format.First(end-x, l.text, l.brief, cmp.Or(l.least, l.brief)), l.brief)
	v.c.Buffer.Text(x, y, end, safetext.Clip(text, max(end-x, 0), safetext.Ellipsis), l.style)
}

// alertMark is an alert as a shape and a colour.
func (v view) alertMark(e *model.Alert) (string, themes.Style) {
	l := &v.c.Look
	switch e.What {
	case model.Restarted, model.Emptied:
		if e.N > 0 {
			return l.OverMark, l.Denied
		}
	case model.Erring, model.Evicting:
		return l.BadMark, l.Near
	case model.BecameThrottled, model.LinkLost, model.NodeLost:
		return l.OverMark, l.Denied
	case model.BecameClose:
		return l.NearMark, l.Near
	case model.BecameUnreadable:
		return l.BadMark, l.Unknown
	case model.Appeared:
		return l.PinMark, l.Dim
	case model.Left:
		return l.IdleMark, l.Dim
	}
	return l.OKMark, l.Good
}

// PaintDecision writes one decision about a fired request and returns the column after it.
func PaintDecision(p *widget.Canvas, x, y, end int, d *firing.Decision) int {
	v := view{c: p}
	mark, what, st := v.outcome(d.Outcome)
	if d.N > 1 {
		what += fmt.Sprintf(" ×%d", d.N)
	}
	x = v.c.Spans(x, y, end, widget.Styled(format.ClockMillis(d.At)+" ", v.c.Look.Dim),
		widget.Styled(fmt.Sprintf("%s %-13s", mark, what), st))
	switch d.Outcome {
	case model.Admitted, model.Denied:
		told := fmt.Sprintf("left %-7s", format.Short(d.Decision.Remaining))
		switch {
		case d.Answer != nil: // the program's own script, which says neither
			told = fmt.Sprintf("left %-7s", format.Unknown)
		case d.Outcome == model.Denied:
			told = fmt.Sprintf("retry %-6s", format.Span(d.Decision.RetryAfter))
		}
		x = v.c.Spans(x, y, end, widget.Styled(fmt.Sprintf("cost %-3d %s", d.Cost, told), v.c.Look.Text))
	default:
		return v.c.Buffer.Text(x, y, end, safetext.Clip(safetext.Clean(d.Err), max(0, end-x), safetext.Ellipsis), v.c.Look.Text)
	}
	return v.c.Spans(x, y, end, widget.Styled(fmt.Sprintf("%8s", format.Latency(d.Latency)), v.c.Look.Dim))
}

func (v view) outcome(o model.Outcome) (mark, what string, st themes.Style) {
	switch o {
	case model.Admitted:
		return v.c.Look.YesMark, "admitted", v.c.Look.Admitted
	case model.Denied:
		return v.c.Look.OverMark, "denied", v.c.Look.Denied
	case model.Failed:
		return "!", "error", v.c.Look.Near
	}
	return "?", "unknown", v.c.Look.Unknown
}
