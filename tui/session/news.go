package session

import (
	"cmp"
	"context"
	_ "embed" // of errors.txt
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// News is an alert of the configuration that begins or ends, or what became of a delivery.
type News struct {
	Alert  *report.Alert
	Failed string // one sentence; "" nothing failed
	// Delivery is what became of delivering alerts, Failed ones included; nil where the news is none of it.
	Delivery *report.Delivery
}

// Notify says how a new alert is announced to a user who does not look at the screen.
type Notify uint8

// The ways, each with those before it.
const (
	NotifyNot     Notify = iota // the banner and the title of the window alone
	NotifyBell                  // the terminal's bell
	NotifyDesktop               // a notification of the desktop, where the terminal can (OSC 9 and OSC 777)
)

// alerts are the alerts of the configuration that fire.
type alerts struct {
	app    *shell.App
	next   func(context.Context) ([]News, error) // waits for news; nil: there are none
	notify Notify
	list   []report.Alert // the oldest first
	missed report.Undelivered
	Told   []record.Marker // what fired, ended and was delivered, the oldest first, for the log of events
}

// mostTold bounds what is kept of alerts for the log of events.
const mostTold = 500

// tell adds lines to the log of events: one for each alert that begins or ends, but one for all of a rule that
// do so at once where they are more than a few, and one for each delivery. now is on the server's clock.
func (a *alerts) tell(news []News, now limiter.Instant) {
	const few = 3
	type moment struct{ rule, state string }
	counts := map[moment]int{}
	for _, n := range news {
		if n.Alert != nil {
			counts[moment{n.Alert.Alert, n.Alert.State}]++
		}
	}
	for _, n := range news {
		m := record.Marker{Kind: record.MarkerAlert, At: now}
		if one := n.Alert; one != nil {
			at := moment{one.Alert, one.State}
			verb := collect.If(one.State != report.Firing, "has ended", "fires")
			m.At = limiter.Instant(one.At * 1000)
			m.Text = fmt.Sprintf("alert %s (%s) %s", one.Alert, cmp.Or(one.Severity, "no severity"), verb)
			switch n := counts[at]; {
			case n == 0: // its line stands there
				continue
			case n > few:
				m.Text += " for " + format.Plural(n, "key")
				delete(counts, at)
			case one.Key != nil:
				m.Key = string(*one.Key)
			}
			a.Told = append(a.Told, m)
		}
		if n.Failed != "" && n.Delivery == nil {
			m.Text = n.Failed
			a.Told = append(a.Told, m)
		}
		if d := n.Delivery; d != nil {
			m.Key, m.At, m.Text = "", now, "delivered to "+d.To
			if d.Outcome != report.Delivered {
				m.Text = "not " + m.Text + ": " + d.Why
			}
			m.Text += fmt.Sprintf(" (%s, %s)", d.Alert, d.State)
			a.Told = append(a.Told, m)
		}
	}
	a.Told = a.Told[max(len(a.Told)-mostTold, 0):]
}

// newsMsg delivers news; err is set when there will be no more.
type newsMsg struct {
	news []News
	err  error
}

// wait returns the command that waits for news.
func (a *alerts) wait() tea.Cmd {
	if a.next == nil {
		return nil
	}
	ctx := a.app.Context()
	return func() tea.Msg {
		news, err := a.next(ctx)
		return newsMsg{news, err}
	}
}

// hear handles news and waits for more. now is on the server's clock.
func (a *alerts) hear(msg newsMsg, now limiter.Instant) tea.Cmd {
	if msg.err != nil {
		return nil
	}
	a.tell(msg.news, now)
	var begun []report.Alert
	for _, n := range msg.news {
		if n.Failed != "" {
			a.app.Warn(n.Failed)
		}
		if n.Delivery != nil {
			a.missed.Note(*n.Delivery)
		}
		if one := n.Alert; one != nil {
			a.list = slices.DeleteFunc(a.list, func(b report.Alert) bool { return sameAlert(&b, one) })
			begun = slices.DeleteFunc(begun, func(b report.Alert) bool { return sameAlert(&b, one) })
			if one.State == report.Firing {
				a.list = append(a.list, *one)
				begun = append(begun, *one)
			}
		}
	}
	a.app.Redraw()
	return tea.Batch(a.wait(), call(a.notify, begun), a.app.Wake())
}

// sameAlert reports whether two alerts have the same rule and key.
func sameAlert(x, y *report.Alert) bool {
	return x.Alert == y.Alert && (x.Key == nil) == (y.Key == nil) && (x.Key == nil || *x.Key == *y.Key)
}

// call rings the bell or notifies the desktop, once for all alerts that have just begun.
func call(notify Notify, begun []report.Alert) tea.Cmd {
	if len(begun) == 0 || notify == NotifyNot {
		return nil
	}
	text := "\a"
	if notify == NotifyDesktop {
		says := sentence(&begun[0])
		if more := len(begun) - 1; more > 0 {
			says += fmt.Sprintf(" (and %d more)", more)
		}
		says = strings.ReplaceAll(safetext.Clip(says, 200, safetext.Ellipsis), ";", ",") // parts end with a semicolon
		text += "\x1b]9;" + says + "\x1b\\\x1b]777;notify;ratescope;" + says + "\x1b\\"
	}
	return tea.Raw(text)
}

// sentence returns the text of an alert, cleaned for a terminal.
func sentence(a *report.Alert) string { return safetext.Sentence(string(a.Text)) }

// firing returns the alerts that fire on any of the servers. At the end is the one that began last of those whose delivery failed,
// with what became of it in failed, else the one that began last of all.
func (h header) firing() (all []report.Alert, failed *report.Delivery) {
	var missed report.Undelivered
	for _, p := range append(slices.Clone(h.s.Peers), h.s)[:max(len(h.s.Peers), 1)] {
		all, missed = append(all, p.Alerts.list...), append(missed, p.Alerts.missed...)
	}
	place := func(a *report.Alert) int {
		return slices.IndexFunc(missed, func(d report.Delivery) bool { return d.Alert == a.Alert })
	}
	slices.SortStableFunc(all, func(a, b report.Alert) int {
		return cmp.Or(cmp.Compare(min(place(&a), 0), min(place(&b), 0)), cmp.Compare(a.Since, b.Since))
	})
	if n := len(all); n > 0 && place(&all[n-1]) >= 0 {
		failed = &missed[place(&all[n-1])]
	}
	return all, failed
}

// paintAlerts draws the banner where alerts fire: the last of them, what became of its delivery, and how many there are.
func (h header) paintAlerts(x, y, end int, all []report.Alert, failed *report.Delivery) {
	n := len(all)
	a := &all[n-1]
	st := collect.If(a.Severity == "page" || a.Severity == "critical", h.c.Look.BadgeBad, h.c.Look.BadgeWarn)
	text := " " + h.c.Look.OverMark + " ALERT at " + format.Clock(limiter.Instant(a.At*1000))
	if failed != nil {
		text += ", not delivered to " + safetext.Clean(failed.To)
	}
	text += ": " + sentence(a)
	more := collect.If(n > 1, fmt.Sprintf(" · %d more ", n-1), " ")
	text = safetext.Clip(text, max(0, end-x-safetext.Width(more)), safetext.Ellipsis) + more
	h.c.Buffer.Text(x, y, end, text+strings.Repeat(" ", max(0, end-x-safetext.Width(text))), st)
	h.c.OnClick(cell.Rect{X: x, Y: y, W: end - x, H: 1}, func(int) tea.Cmd { return h.s.Shell.Show("events") })
}

// TargetStyle returns how the target's name is drawn: in its own colour where it has one.
func TargetStyle(colour string, l chart.Look) themes.Style {
	inks := map[string][2]string{ // on dark ground, on light ground
		"red": {"#ff6b6b", "#b3261e"}, "orange": {"#ffa94d", "#a04a00"}, "yellow": {"#ffd43b", "#7a5c00"}, "green": {"#69db7c", "#1b6e2c"},
		"blue": {"#74c0fc", "#0b5394"}, "magenta": {"#e599f7", "#86198f"}, "cyan": {"#66d9e8", "#0b6670"}, "white": {"#ffffff", "#333333"},
	}
	if pair, known := inks[colour]; known {
		return themes.Style{Fg: themes.Hex(collect.If(l.Dark, pair[0], pair[1])), Attr: themes.Bold}
	}
	return l.Text
}

// Join makes the sessions of several servers one view: each knows the others.
func Join(all ...*Session) {
	for _, s := range all {
		s.Peers = all
	}
}

// paintPeers draws a line for each of several servers: whether it answers, what may be done to it, and how
// many of its keys are throttled. A click brings it to the front.
func (h header) paintPeers(r cell.Rect) {
	widest := collect.Most(h.s.Peers, func(p *Session) int { return safetext.Width(p.Options.Target) })
	for i, p := range h.s.Peers {
		line, y := header{h.c, p}, r.Y+i
		mark, arms := collect.If(p == h.s, h.c.Look.SelMark, " "), ""
		label, style := line.state()
		if st := p.Orders.Armament(); st.Armed && st.Refused == nil {
			arms = " ARMED "
		}
		x := h.c.Spans(r.X, y, r.X+r.W, widget.Styled(mark, h.c.Look.Accent),
			widget.Styled(p.Options.Target+strings.Repeat(" ", widest-safetext.Width(p.Options.Target)), TargetStyle(p.Options.Colour, h.c.Look)),
			widget.Styled(" ", h.c.Look.Text),
			widget.Styled(label, style), widget.Styled(" ", h.c.Look.Text))
		if p.Options.Production {
			x = h.c.Spans(x, y, r.X+r.W, widget.Styled("PROD", h.c.Look.BadgeBad), widget.Styled(" ", h.c.Look.Text))
		}
		x = h.c.Spans(x, y, r.X+r.W, widget.Styled(arms, h.c.Look.BadgeArmed))
		h.c.OnClick(cell.Rect{X: r.X, Y: y, W: r.W, H: 1}, func(int) tea.Cmd { p.Shell.Group.Front(p.Shell); return nil })
		line.paintVerdict(x, y, r.X+r.W)
	}
}

// Concern is a present or coming problem of the server.
type Concern struct {
	Bad  bool   // it does harm now, and is not only a warning
	What string // the problem in a few words, with the figure; raw, to be cleaned for a terminal
	Why  string // the effect on rate limits, and the remedy if there is one; raw, too
}

// Thresholds of concerns.
const (
	slowTrip   = 50 * time.Millisecond // a round trip
	busyCPU    = 0.8                   // of the one core of a node that runs commands
	recentSlow = time.Minute           // an entry of the slow log that is no history yet
	lagging    = 1 << 20               // bytes of a replica
	refusals   = 5                     // requests a second
)

// Concerns lists what is wrong, the worst first, as far as it is known.
func Concerns(h *model.Health, s model.Server) []Concern {
	if s.Link != model.Live {
		return nil // the header reports a link that is down
	}
	var list []Concern
	say := func(bad bool, what, why string) { list = append(list, Concern{bad, what, why}) }
	if Above(h.Evicted, 0) {
		why := "keys that are evicted lose their counts and admit anew"
		if h.Policy != "" {
			why += "; policy " + h.Policy
		}
		say(true, "evicts "+format.PerSecond(h.Evicted.V), why)
	}
	for _, e := range h.Errors {
		if e.Rate > 0 {
			bad, why := ErrorMeaning(e.Name)
			say(bad, e.Name+" "+format.PerSecond(e.Rate), why)
		}
	}
	if Above(h.Fruitless, refusals) {
		say(false, "at least "+format.PerSecond(h.Fruitless.V)+" script calls changed nothing, MONITOR shows where",
			"derived from the calls of scripts less what was admitted: clients retry what is denied, which most libraries do not record")
	}
	if h.Unheard.Known && !h.LinkUp {
		say(true, "no link to the master for "+format.Span(time.Duration(h.Unheard.V*float64(time.Second))), "what is read here grows old")
	}
	for _, what := range h.SaveFailed {
		say(true, what+" failed", "the server may refuse writes (MISCONF), and so decisions")
	}
	if h.MemoryMax.Known && h.MemoryMax.V > 0 && h.MemoryUsed.Known && h.MemoryUsed.V > model.NearLimit*h.MemoryMax.V {
		say(false, fmt.Sprintf("memory %.0f%% full", 100*h.MemoryUsed.V/h.MemoryMax.V), full(h.Policy))
	}
	if n := max(h.Nodes, 1); Above(h.CPU, busyCPU*float64(n)) {
		left := collect.If(n > 1, "the nodes have little left", "one core runs all commands, and it has little left")
		say(false, "cpu "+format.Percent(h.CPU.V), left)
	}
	if s.RTT > slowTrip {
		say(false, "rtt "+format.Latency(s.RTT), "every decision waits for a round trip at least that long")
	}
	if Above(h.Lag, lagging) {
		say(false, "replica "+format.Bytes(h.Lag.V)+" behind", "after a failover that much of the counts would be lost")
	}
	if n := len(h.Slow); n > 0 && h.At.Sub(h.Slow[0].At) < recentSlow {
		say(false, "slow command "+format.Latency(h.Slow[0].Took), "everything else waited: "+h.Slow[0].Command)
	}
	if n := len(h.Spikes); n > 0 && h.At.Sub(h.Spikes[0].At) < recentSlow {
		say(false, h.Spikes[0].Event+" took "+format.Latency(h.Spikes[0].Latest),
			"everything else waited; LATENCY DOCTOR at the server says more")
	}
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(list, func(x, y Concern) int { return cmp.Compare(rank[x.Bad], rank[y.Bad]) })
	return list
}

// Refusals says what is known of requests that are refused by scripts at keys whose library does not record it; nil where nothing is.
// INFO counts the calls of all scripts together, so that those of others can hide any number of refusals: only its bounds are known, and
// that they are at keys that are at their limits. Access times may tell which of these are asked, which is all that asked is about.
func Refusals(h *model.Health, b *model.Board, asked bool, name func(key string) string) []Concern {
	calls, keys := 0.0, []*model.Watched{}
	for _, c := range h.Commands {
		if c.Scripts {
			calls += c.Calls
		}
	}
	take := func(k *model.Watched) {
		if k != nil && k.State(b.At) == model.Throttled && !k.Reading.Denied.Known {
			keys = append(keys, k)
		}
	}
	if b.Server.Link != model.Live || calls < 1 || !h.Fruitless.Known {
		return nil
	}
	for _, hot := range b.HotKeys.Keys {
		if hot.Asked.Known {
			take(b.Key(hot.Key))
		}
	}
	named := len(keys) > 0
	if !named && !asked {
		for _, k := range b.Keys() {
			take(k)
		}
	}
	if len(keys) == 0 || asked && calls < refusals {
		return nil
	}
	slices.SortFunc(keys, func(x, y *model.Watched) int {
		xs, _, _ := x.Throttled(b.At)
		ys, _, _ := y.Throttled(b.At)
		return cmp.Or(cmp.Compare(ys, xs), cmp.Compare(x.Reading.Key, y.Reading.Key))
	})
	at, more := name(keys[0].Reading.Key), ""
	if n := len(keys) - 1; n > 0 {
		more = fmt.Sprintf(" or %d more at their limits", n)
	}
	between := fmt.Sprintf("between %.0f and %.0f/s script calls are refused", math.Floor(h.Fruitless.V), math.Ceil(calls))
	if named {
		return []Concern{{What: fmt.Sprintf("%s asked again and again at its limit, up to %.0f/s", at, math.Ceil(calls)),
			Why: "others read " + at + more + " and write nothing; " + between + ", MONITOR for a second shows how many where"}}
	}
	return []Concern{{What: between, Why: "those of watched limiters at " + at + more + "; MONITOR for a second shows which"}}
}

// Above reports whether a figure is known and greater than least.
func Above(m model.Measure, least float64) bool { return m.Known && m.V > least }

// errorMeanings says what error codes mean for limiters: a line each, and an exclamation mark before what is bad.
//
//go:embed errors.txt
var errorMeanings string

// ErrorMeaning returns what an error code means for limiters on this server.
func ErrorMeaning(name string) (bad bool, why string) {
	why, bad = strings.CutPrefix(cmp.Or(format.Line(errorMeanings, name), "commands are answered with this error"), "!")
	return bad, why
}

// full returns what happens when the server's memory is full.
func full(policy string) string {
	switch policy {
	case "":
		return "soon keys are evicted or writes refused"
	case "noeviction":
		return "soon writes are refused, and so decisions; policy noeviction"
	}
	return "soon keys are evicted, which forgets their counts; policy " + policy
}
