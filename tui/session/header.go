package session

import (
	_ "embed" // of tips.txt
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// header draws the two lines at the top.
type header struct {
	c *widget.Canvas
	s *Session
}

// dateFrom is how many columns the header needs to show the day of a replay beside the time, fullVerdict how many the
// verdict takes in whole words.
const dateFrom, fullVerdict = 80, 120

// largeColumns and largeRows are the size of a screen that has room for the longest wait in large digits.
const largeColumns, largeRows = 120, 40

// large reports whether the verdict stands in large type.
func (h header) large() bool {
	b := &h.c.Buffer
	return len(h.s.Peers) == 0 && !b.ASCII && b.W >= largeColumns && b.H >= largeRows
}

// rows returns two, more where the verdict stands in large type, or one and a line for each of several
// servers, and one more while an alert of the configuration fires.
func (h header) rows() int {
	n := collect.If(h.large(), 1+widget.TypeRows, 1+max(len(h.s.Peers), 1))
	if all, _ := h.firing(); len(all) > 0 {
		n++
	}
	return n
}

// paint draws two lines that answer the questions of the person on call: is Redis healthy, which
// keys are throttled, and which are near their limit.
func (h header) paint(r cell.Rect) {
	h.paintServer(r.X, r.Y, r.X+r.W)
	if h.s.Shown.Back() > 0 && !h.s.Shown.Replayed() { // the whole line says that this is not now
		h.c.Buffer.Wash(cell.Rect{X: r.X, Y: r.Y, W: r.W, H: 1}, h.c.Look.BadgeWarn)
	}
	if h.s.Peers == nil {
		h.paintVerdict(r.X, r.Y+1, r.X+r.W)
	} else {
		h.paintPeers(cell.Rect{X: r.X, Y: r.Y + 1, W: r.W, H: len(h.s.Peers)})
	}
	if all, failed := h.firing(); len(all) > 0 {
		h.paintAlerts(r.X, r.Y+r.H-1, r.X+r.W, all, failed)
	}
	h.tips(r)
}

// paintServer draws the first line: the state of the screen, the server, and whether it can be fired
// at.
func (h header) paintServer(x, y, end int) {
	s := h.s.Shown.Server
	label, style := h.state()
	right := format.Clock(h.s.Shown.At())
	switch {
	case h.s.Shown.At() == 0:
		right = ""
	case h.s.Shown.Replayed() && end-x >= dateFrom:
		right = format.Date(h.s.Shown.At()) // it may be of any day
	}
	edge := end - len(right) - 1
	h.c.Buffer.Right(x, y, end-1, right, h.c.Look.Dim)
	arms, armStyle := h.armed(edge - x - len(" ratescope  ") - safetext.Width(label) - 4)
	edge -= safetext.Width(arms) + 1
	if h.s.Orders.Firing() > 0 {
		h.c.OnClick(cell.Rect{X: edge, Y: y, W: safetext.Width(arms), H: 1}, func(int) tea.Cmd { h.s.Orders.Stop(); return nil })
	}
	h.c.Buffer.Text(edge, y, end, arms, armStyle)

	x = h.c.Spans(x, y, edge, widget.Styled(" ratescope ", h.c.Look.Title), widget.Styled(" "+label+" ", style),
		widget.Styled(" ", h.c.Look.Text))
	if h.s.Options.Production {
		x = h.c.Spans(x, y, edge, widget.Styled(" PROD ", h.c.Look.BadgeBad), widget.Styled(" ", h.c.Look.Text))
	}
	if !h.s.Shown.Started {
		h.c.Spans(x, y, edge, widget.Styled("connecting…", h.c.Look.Dim))
		return
	}
	facts := h.serverFacts(s)
	room := edge - x - 1 // the server's name comes before facts about it, but after trouble
	const leastName = 12
	if len(facts) > 0 && facts[0].Style != h.c.Look.Good && facts[0].Style != h.c.Look.Dim {
		if most := room - leastName - 3; most >= leastName {
			facts[0].Text = safetext.Clip(facts[0].Text, most, safetext.Ellipsis)
			room -= safetext.Width(facts[0].Text) + 3
		}
	}
	if room = max(leastName, room); edge-x < leastName { // no cut address beside the badge
		return
	}
	target := safetext.Clean(s.Target)
	if _, host, ok := strings.Cut(target, "://"); ok && safetext.Width(target) > room { // the host matters more than the scheme
		target = host
	}
	name := widget.Styled(safetext.Shorten(target, room, safetext.Ellipsis), TargetStyle(h.s.Options.Colour, h.c.Look))
	h.c.Flow(cell.Rect{X: x, Y: y, W: edge - x, H: 1}, collect.Map(append([]widget.Span{name}, facts...),
		func(p widget.Span) []widget.Span { return []widget.Span{p} })...)
}

// serverFacts returns facts about the server, the most important first. Those that do not fit are
// left out.
func (h header) serverFacts(s model.Server) []widget.Span {
	var facts []widget.Span
	say := func(text string, st themes.Style) {
		if text != "" {
			facts = append(facts, widget.Styled(safetext.Clean(text), st))
		}
	}
	concern := ""
	health := &h.s.Shown.Board().Health
	list := Concerns(health, s)
	if len(list) == 0 || !list[0].Bad {
		name := func(key string) string { return h.s.Names.Short(key, longestName) }
		list = append(Refusals(health, h.s.Shown.Board(), true, name), list...)
	}
	if len(list) > 0 && (h.s.Shown.Age() == 0 || health.At <= h.s.Shown.At()) {
		concern = list[0].What
		say(concern+": press 4", collect.If(list[0].Bad, h.c.Look.Denied, h.c.Look.Near))
	}
	live := s.Link == model.Live
	if n := len(s.Lacks); n > 0 && live {
		say(format.Plural(n, "gap")+" in sight: press 4", h.c.Look.Near)
	}
	if sweep := &h.s.Shown.Live().Sweep; live {
		if text := SearchedText(sweep); text != "" {
			say(text, h.c.Look.Near)
			say(UnseenText(sweep, h.s.Shown.Live().Totals().Throttled), h.c.Look.Near)
		}
		say(BehindText(&h.s.Shown.Board().Sweep), h.c.Look.Near)
		say(PaceText(sweep), h.c.Look.Dim)
	}
	if off := s.Offset; off > 100*time.Millisecond || off < -100*time.Millisecond {
		say("clock "+format.Signed(off), h.c.Look.Near)
	}
	if rtt := "rtt " + format.Latency(s.RTT); live && s.RTT > 0 && rtt != concern {
		say(rtt, h.c.Look.Good)
	}
	if s.Role != "" && !s.Embedded {
		role := s.Role
		if m := h.s.Shown.Board().Health.Unheard; m.Known {
			role += ", heard its master " + format.Span(time.Duration(m.V*float64(time.Second))) + " ago"
		}
		say(role, h.c.Look.Dim)
	}
	if s.Version != "" && !s.Embedded {
		say("redis "+s.Version, h.c.Look.Dim)
	}
	if c := h.s.Shown.Cost; live && c.Over > 0 && c.Server > 0 {
		say(fmt.Sprintf("watching costs %.2f%%", 100*float64(c.Server)/float64(c.Over)), h.c.Look.Dim)
	} else if live && c.Over > 0 && !s.Embedded {
		say(format.PerSecond(float64(c.Commands)/c.Over.Seconds())+" reads", h.c.Look.Dim)
	}
	return facts
}

// state returns the badge of what the screen shows.
func (h header) state() (string, themes.Style) {
	text, style := h.playing()
	if h.s.Shown.Subtracting() {
		return text + ", NOT INJECTED", h.c.Look.BadgeWarn
	}
	return text, style
}

// playing returns the badge that says whether the picture moves, and which one it is.
func (h header) playing() (string, themes.Style) {
	switch {
	case h.s.Shown.Replayed() && h.s.Shown.Started:
		return replayed(h.s.Shown.Playback(), h.c.Look)
	case h.s.Shown.Back() > 0:
		return "PAUSED, " + format.Span(h.s.Shown.Age()) + " back · esc now", h.c.Look.BadgeWarn
	case h.s.Shown.Paused():
		return "PAUSED", h.c.Look.BadgeWarn
	case !h.s.Shown.Started || h.s.Shown.Live().Server.Link == model.Connecting:
		return h.c.Waiting(h.s.Shell.Now()) + " CONNECTING", h.c.Look.BadgeWarn
	case h.s.Shown.Live().Server.Link == model.Down:
		return "DOWN " + format.Span(h.s.Shown.Live().Server.Down), h.c.Look.BadgeBad
	}
	if h.s.Files.Recording() {
		return "LIVE, RECORDING", h.c.Look.BadgeWarn
	}
	return "LIVE", h.c.Look.BadgeLive
}

// armed says whether firing is possible, in a word, or what is being fired, in at most so
// many columns.
func (h header) armed(columns int) (string, themes.Style) {
	left := h.s.Orders.ArmedText()
	if text := h.s.Orders.FiringText(min(columns, 60)); text != "" {
		if with := " " + left + " ·" + text; left != "" && safetext.Width(with) <= columns {
			text = with
		}
		return text, h.c.Look.BadgeArmed
	}
	switch st := h.s.Orders.Armament(); {
	case left != "":
		return " " + left + " ", h.c.Look.BadgeArmed
	case st.Refused != nil:
		return "read-only", h.c.Look.Dim
	case !st.Armed:
		return format.First(columns, "read-only, ! arms", "read-only"), h.c.Look.Dim
	case h.s.Shown.Live().Server.Embedded:
		return "armed", h.c.Look.Injected
	}
	return " ARMED ", h.c.Look.BadgeArmed
}

// paintVerdict draws the second line: how many keys are throttled, near their limit, or at ease.
func (h header) paintVerdict(x, y, end int) {
	s := h.s.Shown.Live().Server
	t := h.s.Shown.Board().Totals()
	switch {
	case s.Link != model.Live && s.Err != "":
		h.c.SpansFit(x+1, y, end-1, widget.Styled(h.c.Look.OverMark+" "+safetext.Clean(s.Err), h.c.Look.Denied))
		return
	case !h.s.Shown.Started:
		return
	case h.s.Options.Saving.Past != nil && h.s.Shown.Back() > 0 && h.s.Shown.At() != h.s.Past.recalled:
		h.c.Spans(x+1, y, end, widget.Styled("reading what was seen at "+format.Clock(h.s.Shown.At())+"…", h.c.Look.Dim))
		return
	case t.Keys == 0:
		text, _ := Searching(h.s.Shown.Live())
		h.c.Spans(x+1, y, end, widget.Styled(text, h.c.Look.Near))
		return
	}
	stale := h.s.Shown.Stale
	ok := max(t.Keys-t.Throttled-t.Eased-t.Near-t.Broken-t.Unknown-t.Likely-t.Gone-stale, 0)
	if h.large() {
		x = h.paintWait(x+1, y, end, &t) - 1
	}
	first, wide := x, end
	x -= 2
	over := h.c.Look.OverMark
	show := func(mark string, n int, word string, lit themes.Style) cell.Rect {
		switch {
		case n == 0 && t.Likely > 0 && mark != over && wide-first < fullVerdict:
			return cell.Rect{} // in its place stands what to do
		case n == 0:
			lit = h.c.Look.Dim
		}
		from := x + 3
		x = h.c.Buffer.Text(from, y, end, safetext.Clip(mark+" "+strconv.Itoa(n)+" "+word, end-from, safetext.Ellipsis), lit)
		return cell.Rect{X: from, Y: y, W: x - from, H: 1}
	}
	if h.s.Shown.Board().Sweep.Behind+stale > 0 || h.s.Shown.Back() > 0 && t.Unknown > 0 && t.Throttled > 0 {
		over += " at least"
	}
	if t.Throttled == 0 && h.unsure(&t) == 0 && wide-first < fullVerdict {
		x = h.c.Spans(x+3, y, end, widget.Styled("nobody is throttled", h.c.Look.Good))
	} else {
		show(over, t.Throttled, "throttled", h.c.Look.Denied)
	}
	if t.Eased > 0 {
		show(h.c.Look.EasedMark, t.Eased, collect.If(wide-first >= fullVerdict, "a moment ago", ""), h.c.Look.Near)
	}
	show(h.c.Look.NearMark, t.Near, "near limit", h.c.Look.Near)
	show(h.c.Look.OKMark, ok, "ok", h.c.Look.Good)
	if stale > 0 {
		show(h.c.Look.StaleMark, stale, "stale", h.c.Look.Unknown)
	}
	switch {
	case t.Sick > t.Broken:
		h.c.OnClick(show(h.c.Look.BadMark, t.Sick, "sick", h.c.Look.Unknown),
			func(int) tea.Cmd { h.s.Selection.SetFilter("state:sick"); return nil })
	case t.Broken > 0:
		show(h.c.Look.BadMark, t.Broken, "unreadable", h.c.Look.Unknown)
	}
	if t.Unknown > 0 {
		show(h.c.Look.BadMark, t.Unknown, "unknown", h.c.Look.Unknown)
	}
	if t.Likely > 0 {
		show(likelyMark, t.Likely, h.likelyText(&t, end-x-len("   ~  ")-len(strconv.Itoa(t.Likely))), h.c.Look.Unknown)
	}
	end = h.paintFlow(x, y, end, &t)
	if h.large() {
		x, y, end = first-2, y+1, wide
	}
	h.paintLongest(x+3, y, end, &t)
}

// unsure returns of how many keys it is not known whether they are throttled now.
func (h header) unsure(t *model.Totals) int {
	return min(t.Unknown+t.Broken+t.Likely+h.s.Shown.Stale+h.s.Shown.Board().Sweep.Behind, t.Keys)
}

// paintLongest says which throttled key waits longest, or that no key is throttled, and which was the latest.
func (h header) paintLongest(x, y, end int, t *model.Totals) {
	key, spans := "", []widget.Span(nil)
	room := end - x - 25
	if h.large() {
		room -= len("until the last throttled key is free: ") - len("longest: ")
	}
	if room < 6 {
		return
	}
	if k := t.Worst; k != nil {
		key = k.Reading.Key
		name, limit := h.s.Names.Short(key, min(room, longestName)), " · "+LimitText(k.Reading.Target)
		if room < safetext.Width(name)+safetext.Width(limit) {
			limit = ""
		}
		before, frees := "longest: ", " frees in "+NextText(&k.Gauge, 6)
		if k.Gauge.Next == limiter.Never {
			frees = " never frees"
		} else if h.large() { // the digits say it
			before, frees = "until the last throttled key is free: ", ""
		}
		spans = []widget.Span{widget.Styled(before, h.c.Look.Dim), widget.Styled(name, h.c.Look.Text),
			widget.Styled(limit, h.c.Look.Dim), widget.Styled(frees, h.c.Look.Denied)}
	} else if unsure := h.unsure(t); t.Throttled == 0 && unsure > 0 {
		text := "whether a key is throttled is not known"
		if unsure < t.Keys {
			text = "not known of " + format.Plural(unsure, "key") + ", and none of the others is throttled"
		}
		spans = []widget.Span{widget.Styled(text, h.c.Look.Dim)}
	} else if t.Throttled == 0 {
		spans = []widget.Span{widget.Styled("nobody is throttled", h.c.Look.Good)}
		for _, a := range slices.Backward(h.s.Shown.Board().Alerts()) {
			if (a.What == model.NoLongerThrottled || a.What == model.BecameThrottled) && a.Key != "" {
				ago := format.Span(h.s.Shown.At().Sub(a.At)) + " ago"
				if key = a.Key; a.What == model.BecameThrottled { // it is free since, and its episode not over
					ago = "a moment ago"
				}
				ago = " · last " + h.s.Names.Short(key, min(room, longestName)) + ", " + ago
				if safetext.Width(ago) <= room {
					spans = append(spans, widget.Styled(ago, h.c.Look.Dim))
				}
				break
			}
		}
	}
	end = h.c.Spans(x, y, end, spans...)
	if key != "" {
		h.c.OnClick(cell.Rect{X: x, Y: y, W: end - x, H: 1}, func(int) tea.Cmd {
			h.s.Selection.Pick(key)
			h.s.Shell.Group.Front(h.s.Shell)
			return nil
		})
	}
}

// paintWait draws the longest wait in large digits, and returns the column behind them.
func (h header) paintWait(x, y, end int, t *model.Totals) int {
	if t.Worst == nil || t.Worst.Gauge.Next == limiter.Never {
		return x
	}
	first := x
	for _, part := range numbers.FindAllStringSubmatch(format.Wait(t.Worst.Gauge.Next), -1) { // units in small letters: S reads as a 5
		h.c.Large(x, y, end, part[1], false, h.c.Look.Denied)
		x = h.c.Buffer.Text(x+widget.TypeCells(part[1], false)+1, y+1, end, part[2], h.c.Look.Denied) + 1
	}
	return max(x+1, first+widthOfWait)
}

// numbers are those of a time, each with its unit.
var numbers = regexp.MustCompile(`([<0-9.]+) ?(\pL+)`)

// widthOfWait is how many columns the digits of a wait below a minute take, so that what stands behind them keeps its place.
const widthOfWait = 15

// longestName is how many columns the verdict gives the key that is denied the longest.
const longestName = 48

// paintFlow draws the requests admitted and denied a second at the right, if there is room, and
// returns the column before them.
func (h header) paintFlow(x, y, end int, t *model.Totals) int {
	l := &h.c.Look
	admitted, denied := widget.Styled(format.PerSecond(t.Admitted), l.Admitted), widget.Styled(format.PerSecond(t.Denied), l.Denied)
	if t.Paced == 0 && t.Keys > 0 {
		admitted = widget.Styled(format.Unknown, l.Dim)
	}
	switch {
	case t.DeniedKnown == 0:
		denied = widget.Styled(format.Unknown, l.Dim)
	case t.Denied == 0:
		denied.Style = l.Dim
	}
	whole := []widget.Span{admitted, widget.Styled("  ", l.Text), denied}
	short := slices.Clone(whole)
	whole[0].Text, whole[2].Text = fmt.Sprintf("%7s admitted", admitted.Text), fmt.Sprintf("%7s denied", denied.Text)
	if h.s.Shown.Back() > 0 && t.Unknown > 0 && t.Paced > 0 { // the sum is of the keys that are known
		whole[0].Text = "at least " + admitted.Text + " admitted"
	}
	if t.Recorded == 0 {
		whole[2].Text = "denied: not recorded"
	}
	short[0].Text, short[2].Text = l.YesMark+" "+admitted.Text, l.OverMark+" "+denied.Text
	for _, spans := range [][]widget.Span{whole, short} {
		if from := end - 1 - widget.Width(spans...); from >= x+2 {
			h.c.Spans(from, y, end, spans...)
			return from
		}
	}
	return end
}

// headerTips explain the figures of the header: a line each, with a word in the figure and what it says. The first that fits counts.
//
//go:embed tips.txt
var headerTips string

// tips adds explanations to the two rows of the header.
func (h header) tips(r cell.Rect) {
	h.c.Tip(r, func(x, y int) string {
		said := segmentAt(h.c, x, y)
		for line := range strings.Lines(headerTips) {
			if word, says, _ := strings.Cut(line, " | "); strings.Contains(said, word) {
				return strings.TrimSpace(says)
			}
		}
		return ""
	})
}

// segmentAt returns the text around a cell, in lower case, up to two blanks or a dot between figures.
func segmentAt(p *widget.Canvas, x, y int) string {
	at := func(x int) rune { return p.Buffer.At(x, y).R }
	ends := func(x int) bool { return at(x) == '·' || at(x) == ' ' && (at(x+1) == ' ' || at(x+1) == 0) }
	from, to := x, x
	for from > 0 && !ends(from-1) {
		from--
	}
	for to < p.Buffer.W && !ends(to) {
		to++
	}
	var b strings.Builder
	for i := from; i < to; i++ {
		if r := at(i); r != 0 {
			b.WriteRune(r)
		}
	}
	return strings.ToLower(b.String())
}
