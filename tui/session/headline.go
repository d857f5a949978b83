package session

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/widget"
)

// teller says how keys are at the moment on screen. When they will deny requests is worked out once a second of its clock.
type teller struct {
	shown  *state.Boards
	of     *model.Board // of which denied is
	second int64
	denied map[string]time.Duration // the time until a key denies; -1: not within a window
}

// Headline describes the state of a key in one sentence behind its sign: whether a request is admitted, how much of
// the limit is used, when the next request is admitted, and how many are denied. Clauses that do not
// fit into so many columns are left out from the end.
func (t *teller) Headline(k *model.Watched, l chart.Look, columns int) []widget.Span {
	mark, st := t.Mark(k, l)
	word := cmp.Or(map[model.KeyState]string{model.Throttled: "throttled", model.WasThrottled: "free again",
		model.UnreadableState: "cannot be read", model.Silent: "silent", model.LikelyOver: "likely a limiter",
		model.LikelyState: "likely a limiter"}[k.State(t.shown.At())], "ok")
	g, target := &k.Gauge, &k.Reading.Target
	age, old := t.shown.Outdated(k)
	switch {
	case old:
		word, st = "last known "+format.Span(age)+" ago", l.Unknown
	case !g.NextKnown && k.Reading.Err == "" && target.LimitKnown && target.Window > 0:
		word = collect.If(g.Used.Known, "wait: not known", "used: not known")
	case !g.NextKnown && k.Reading.Err == "":
		word = "limit unknown"
	case word == "ok" && g.Near():
		word = "near its limit"
	}
	spans := []widget.Span{widget.Styled(mark+" ", st), widget.Styled(word, st)}
	add := func(text string, style themes.Style) {
		spans = append(spans, widget.Styled(", ", l.Dim), widget.Styled(text, style))
	}
	if g.Used.Known && target.LimitKnown && target.Limit.Count > 0 {
		text := fmt.Sprintf("%s of %s", format.Short(g.Used.N), format.Short(model.Capacity(*target)))
		if window := target.Window; window > 0 {
			text += " in " + format.Length(window)
		}
		add(text, l.Text)
	}
	if next := t.NextSlot(k, l); next.Text != "" {
		add(next.Text, next.Style)
	}
	pace := g.Pace()
	switch {
	case !g.DeniedInW.Known:
		add(collect.If(k.Reading.Denied.Known, "denied: not known", "denied: not recorded"), l.Dim)
	case g.DeniedPerSec.V > 0:
		add(format.PerSecond(g.DeniedPerSec.V)+" turned away", l.Denied)
	case pace.Known && pace.V > 0 && g.Reset != time.Duration(0):
		add(format.PerSecond(pace.V), l.Dim)
	}
	if g.NextKnown && g.Next == 0 && !old {
		if in, known := t.deniedIn(k); known {
			add("at this rate denied in "+format.Wait(in), l.Near)
		}
	}
	for len(spans) > 2 && widget.Width(spans...) > columns {
		spans = spans[:len(spans)-2]
	}
	return spans
}

// NextSlot returns when a request would be admitted, or how many would be now; "" if unknown.
func (t *teller) NextSlot(k *model.Watched, l chart.Look) widget.Span {
	g := &k.Gauge
	_, old := t.shown.Outdated(k)
	switch {
	case !g.NextKnown || old:
	case g.Next == limiter.Never:
		return widget.Styled("never frees", l.Denied)
	case g.Next > 0:
		return widget.Styled("next slot in "+format.Wait(g.Next), l.Denied)
	case g.Remaining.Known:
		return widget.Styled("room for "+format.Short(g.Remaining.N), l.Text)
	}
	return widget.Span{}
}

// deniedIn returns after how long a key denies if its requests go on as in the last seconds.
func (t *teller) deniedIn(k *model.Watched) (time.Duration, bool) {
	if !k.Gauge.RecentKnown {
		return 0, false
	}
	if b, second := t.shown.Board(), int64(t.shown.At())/1e6; t.of != b || t.second != second {
		t.of, t.second, t.denied = b, second, map[string]time.Duration{}
	}
	in, known := t.denied[k.Reading.Key]
	if !known {
		in = -1
		if after, ok := k.Reading.DeniedIn(t.shown.At(), k.Gauge.Recent); ok {
			in = after
		}
		t.denied[k.Reading.Key] = in
	}
	return in, in >= 0
}

// pace returns the time to the next picture. Sending one to the terminal costs most here, so a
// picture comes with every step of the timeline, and between two steps in even parts of about five
// times the least that is allowed, which is half a second by default: numbers cannot be read any
// faster. While nothing moves but time, a picture comes at every full second.
func (s *Session) pace() (wait time.Duration, idle bool) {
	now := int64(s.Shown.LiveAt())
	if s.Shell.Options.Still || s.idleScreen() {
		return time.Second - time.Duration(now%1e6)*time.Microsecond, true
	}
	frame := s.Shell.Options.Frame()
	unhurried := 5 * frame
	quiet := s.Orders.Firing() == 0 && !s.Shown.Throttled && s.Shown.Quiet() > 2*time.Second
	switch {
	case s.Step > unhurried && quiet: // at the very moment of the step
		return max(frame, min(s.Step-time.Duration(now)*time.Microsecond%s.Step, time.Second)), false
	case s.Step > 0: // so that the picture moves evenly
		parts := max((s.Step+unhurried/2-1)/unhurried, 1) // rounded, a half downwards
		part := s.Step / parts
		return max(frame, part-time.Duration(now)*time.Microsecond%part), false
	}
	return unhurried, false
}

// idleScreen reports whether nothing on screen changes more often than its clock: no request
// arrives, no column moves within a second, and nothing counts down.
func (s *Session) idleScreen() bool {
	if !s.Shown.Started || s.Shown.Live().Server.Link != model.Live || s.Orders.Firing() > 0 || s.Shown.Throttled {
		return false
	}
	if k := s.Shown.Live().Key(s.Selection.Selected); k != nil {
		if w := k.Timeline.Window(); s.Step == 0 || w < 48*time.Second {
			return s.Shown.Quiet() > max(2*w, 3*time.Second)
		}
	}
	return s.Shown.Quiet() > 3*time.Second
}

// tick moves the clock on.
func (s *Session) tick(local time.Time) {
	s.Orders.WatchArming()
	changed, second := s.Shown.Tick(local)
	if changed {
		s.Shell.Redraw()
	}
	if second || changed && !s.Shell.Options.Still && s.Rows.Stirred() {
		s.Selection.Resort()
	}
}

// past is how the keys were read at moments before now.
type past struct {
	kept     func(at limiter.Instant) *model.Board // nil: nothing is kept
	shown    *state.Boards
	rows     *state.List
	asked    limiter.Instant // the moment on screen of which it was asked last
	recalled limiter.Instant // the one of which that is on screen
	then     struct {        // the moment of an event
		asked, at limiter.Instant
		kept      *model.Board // as it was at at; nil: that was not kept
	}
}

// recall finds out how the keys were read at the moment of the past that is on screen.
func (p *past) recall() tea.Cmd {
	at := collect.If(p.shown.Back() == 0, 0, p.shown.At())
	if p.kept == nil || at == p.asked {
		return nil
	}
	p.asked = at
	return func() tea.Msg {
		kept := p.kept(at)
		return shell.Then(func() tea.Cmd {
			p.recalled = at
			p.shown.Recall(kept, at)
			p.rows.Reorder()
			return nil
		})
	}
}

// Ask finds out how the keys were read at a moment before the one on screen.
func (p *past) Ask(at limiter.Instant, redraw func()) tea.Cmd {
	if p.kept == nil || p.then.asked == at || p.then.asked != p.then.at || at >= p.shown.At() {
		return nil
	}
	p.then.asked = at
	return func() tea.Msg {
		kept := p.kept(at)
		return shell.Then(func() tea.Cmd {
			if p.then.at, p.then.kept = at, kept; kept != nil {
				p.then.kept = p.shown.Board().AsOf(at, kept)
			}
			redraw()
			return nil
		})
	}
}

// Then returns a key as it was read at a moment, for which Ask was called, or by its timeline where that is not kept. It is nil
// while it is not known.
func (p *past) Then(k *model.Watched, at limiter.Instant) *model.Watched {
	switch {
	case p.kept == nil || at >= p.shown.At():
		return k.AsOf(at)
	case p.then.at != at:
		return nil
	case p.then.kept == nil || p.then.kept.Key(k.Reading.Key) == nil:
		return k.AsOf(at)
	}
	return p.then.kept.Key(k.Reading.Key)
}

// Pause pauses the picture, or continues it. The board is updated meanwhile.
func (s *Session) Pause() {
	if s.Shown.Pause() {
		s.Rows.Reorder()
	}
}

// subtractInjected subtracts the requests fired from here from all figures, or shows them again. It
// says for which keys that is not possible.
func (s *Session) subtractInjected() {
	of := s.Shown.Subtract()
	s.Rows.Rebind()
	switch {
	case !s.Shown.Subtracting():
		s.Shell.Say("The requests fired from here are in every figure again.")
	case of.Kept > 0:
		s.Shell.Say(fmt.Sprintf("Without what was fired from here at %s; at %d others it cannot be told apart, which their notes say.",
			format.Plural(of.Keys, "key"), of.Kept))
	case of.Keys == 0:
		s.Shell.Say("Nothing was fired from here so far; what is will be left out of every figure. The same key shows it again.")
	default:
		s.Shell.Say("Without what was fired from here, at " + format.Plural(of.Keys, "key") + ". The same key shows it again.")
	}
}

// Follow shows the moment of the pause of another session, or now as that does.
func (s *Session) Follow(other *Session) {
	back := other.Shown.Back()
	switch {
	case s.Shown.Paused() == other.Shown.Paused() && s.Shown.Back() == back:
		return
	case other.Shown.Paused():
		s.Shown.Visit(s.Shown.Moment().Now.Add(-back), nil)
	default:
		s.Shown.Pause()
	}
	s.Rows.Reorder()
}

// Scroll goes back or forward in time, and says so if nothing is known about any key at that time.
// From now it pauses first, in a replay it moves the replay.
func (s *Session) Scroll(earlier bool) {
	if !earlier && !s.Shown.Paused() && !s.Shown.Replayed() {
		s.Shell.Say("This is now: ← goes back in time.")
		return
	}
	s.Shown.Scroll(earlier, s.Selection.Current())
	s.Rows.Reorder()
	t, live := s.Shown.Board().Totals(), s.Shown.Live().Totals()
	if earlier && !s.Shown.Replayed() && t.Keys > 0 && t.Unknown == t.Keys && live.Unknown < live.Keys {
		s.Shell.Say("Nothing was watched yet at " + format.Clock(s.Shown.At()) + ": → goes on, p is now again.")
	}
}

// replayed returns the badge of a replay: where it is and how fast it goes.
func replayed(p model.Playback, look chart.Look) (string, themes.Style) {
	where := format.Minutes(p.At.Sub(p.Begin)) + "/" + format.Minutes(p.End.Sub(p.Begin))
	switch {
	case p.Past:
		return "REPLAY " + where + " reading the past", look.BadgeWarn
	case p.Ended && p.CutOff != "":
		return "REPLAY " + where + " cut off here", look.BadgeWarn
	case p.Ended:
		return "REPLAY " + where + " end of recording", look.BadgeWarn
	case p.Paused:
		return "REPLAY " + where + " paused", look.BadgeWarn
	}
	return "REPLAY " + where + " " + speedText(p.Speed), look.BadgeLive
}

func speedText(v float64) string { return "×" + strconv.FormatFloat(v, 'g', 4, 64) }

// cleaned keeps the names of keys as the terminal may show them: every picture has those of all its
// rows, and to clean a long one takes tens of microseconds. The zero value is ready.
type cleaned struct {
	names map[string]string
	bytes int // of keys and names
}

// Bounds of cleaned: names that are shorter than longName are cleaned in less than it takes to look
// them up; of more than mostCleaned bytes all are forgotten and cleaned again as they are shown.
const (
	longName    = 48
	mostCleaned = 4 << 20
)

// of returns a key's name, cleaned by clean where it is not known.
func (c *cleaned) of(key string, clean func(string) string) string {
	if len(key) < longName {
		return clean(key)
	}
	if name, known := c.names[key]; known {
		return name
	}
	name := clean(key)
	if c.bytes += len(key) + len(name); c.names == nil || c.bytes > mostCleaned {
		c.names, c.bytes = map[string]string{}, len(key)+len(name)
	}
	c.names[key] = name
	return name
}

// mostLearned is the greatest number of names that are learned at once. Of more, any are learned.
const mostLearned = 1024

// names are those of keys as the terminal may show them. A shortened one keeps the part that differs from other names: what
// they have in common is learned again when the number of keys changes.
type names struct {
	shown   *state.Boards
	mask    bool // hide the middle
	cleaned cleaned
	learned safetext.Families
	board   *model.Board // of whose names they are
	keys    int          // on it then
}

// Of returns a key's name, without the middle of one that is wider than any screen.
func (n *names) Of(key string) string {
	return n.cleaned.of(key, func(key string) string {
		const end = 512
		if len(key) > 2*end && !n.mask {
			key = key[:end] + key[len(key)-end:]
		}
		return FullName(key, n.mask)
	})
}

// Families returns the common parts of the names of the keys on the board.
func (n *names) Families() *safetext.Families {
	b := n.shown.Board()
	if n.board == b && n.keys == b.Len() {
		return &n.learned
	}
	n.board, n.keys = b, b.Len()
	learned := 0
	for key := range b.Keys() {
		if learned++; learned > mostLearned {
			break
		}
		n.learned.Learn(n.Of(key))
	}
	return &n.learned
}

// Short returns a key's name as Of does, in at most a number of columns. A longer name loses the
// parts that it has in common with other keys.
func (n *names) Short(key string, columns int) string {
	return n.Families().Shorten(n.Of(key), columns, safetext.Ellipsis)
}
