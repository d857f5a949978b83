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
	"ratescope/tui/widget"
)

// Headline describes the state of a key in one sentence behind its sign: whether a request is admitted, how much of
// the limit is used, when the next request is admitted, and how many are denied. Clauses that do not
// fit into so many columns are left out from the end.
func (s *Session) Headline(k *model.Watched, l chart.Look, columns int) []widget.Span {
	mark, st := s.Mark(k, l)
	word := map[model.KeyState]string{model.Throttled: "throttled", model.WasThrottled: "free again",
		model.UnreadableState: "cannot be read", model.Silent: "silent", model.LikelyOver: "likely a limiter",
		model.LikelyState: "likely a limiter"}[k.State(s.Shown.At())]
	word = cmp.Or(word, "ok")
	g, t := &k.Gauge, &k.Reading.Target
	age, old := s.Shown.Outdated(k)
	switch {
	case old:
		word, st = "last known "+format.Span(age)+" ago", l.Unknown
	case !g.NextKnown && k.Reading.Err == "" && t.LimitKnown && t.Window > 0:
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
	if g.Used.Known && t.LimitKnown && t.Limit.Count > 0 {
		text := fmt.Sprintf("%s of %s", format.Short(g.Used.N), format.Short(model.Capacity(*t)))
		if window := t.Window; window > 0 {
			text += " in " + format.Length(window)
		}
		add(text, l.Text)
	}
	if next := s.NextSlot(k, l); next.Text != "" {
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
		if in, known := s.deniedIn(k); known {
			add("at this rate denied in "+format.Wait(in), l.Near)
		}
	}
	for len(spans) > 2 && widget.Width(spans...) > columns {
		spans = spans[:len(spans)-2]
	}
	return spans
}

// NextSlot returns when a request would be admitted, or how many would be now; "" if unknown.
func (s *Session) NextSlot(k *model.Watched, l chart.Look) widget.Span {
	g := &k.Gauge
	_, old := s.Shown.Outdated(k)
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

// outlook holds the times until keys will deny requests, calculated once a second of the screen's
// clock.
type outlook struct {
	of     *model.Board // on screen
	second int64
	denied map[string]time.Duration // -1: not within a window
}

// deniedIn returns after how long a key denies if its requests go on as in the last seconds.
func (s *Session) deniedIn(k *model.Watched) (time.Duration, bool) {
	if !k.Gauge.RecentKnown {
		return 0, false
	}
	if b, second := s.Shown.Board(), int64(s.Shown.At())/1e6; s.outlook.of != b || s.outlook.second != second {
		s.outlook = outlook{b, second, map[string]time.Duration{}}
	}
	in, known := s.outlook.denied[k.Reading.Key]
	if !known {
		in = -1
		if after, ok := k.Reading.DeniedIn(s.Shown.At(), k.Gauge.Recent); ok {
			in = after
		}
		s.outlook.denied[k.Reading.Key] = in
	}
	return in, in >= 0
}

// Pace returns the time to the next picture. Sending one to the terminal costs most here, so a
// picture comes with every step of the timeline, and between two steps in even parts of about five
// times the least that is allowed, which is half a second by default: numbers cannot be read any
// faster. While nothing moves but time, a picture comes at every full second.
func (s *Session) Pace() (wait time.Duration, idle bool) {
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

// recall finds out how the keys were read at the moment of the past that is on screen.
func (s *Session) recall() tea.Cmd {
	past, at := s.Options.Saving.Past, collect.If(s.Shown.Back() == 0, 0, s.Shown.At())
	if past == nil || at == s.asked {
		return nil
	}
	s.asked = at
	return func() tea.Msg {
		kept := past(at)
		return shell.Then(func() tea.Cmd {
			s.recalled = at
			s.Shown.Recall(kept, at)
			s.Rows.Reorder()
			return nil
		})
	}
}

// AskThen finds out how the keys were read at a moment before the one on screen.
func (s *Session) AskThen(at limiter.Instant) tea.Cmd {
	past := s.Options.Saving.Past
	if past == nil || s.then.asked == at || s.then.asked != s.then.at || at >= s.Shown.At() {
		return nil
	}
	s.then.asked = at
	return func() tea.Msg {
		kept := past(at)
		return shell.Then(func() tea.Cmd {
			if s.then.at, s.then.kept = at, kept; kept != nil {
				s.then.kept = s.Shown.Board().AsOf(at, kept)
			}
			s.Shell.Redraw()
			return nil
		})
	}
}

// Then returns a key as it was read at a moment, of which AskThen was called, or by its timeline where that is not kept. It is nil
// while it is not known.
func (s *Session) Then(k *model.Watched, at limiter.Instant) *model.Watched {
	switch {
	case s.Options.Saving.Past == nil || at >= s.Shown.At():
		return k.AsOf(at)
	case s.then.at != at:
		return nil
	case s.then.kept == nil || s.then.kept.Key(k.Reading.Key) == nil:
		return k.AsOf(at)
	}
	return s.then.kept.Key(k.Reading.Key)
}

// Pause pauses the picture, or continues it. The board is updated meanwhile.
func (s *Session) Pause() {
	if s.Shown.Pause() {
		s.Rows.Reorder()
	}
}

// SubtractInjected subtracts the requests fired from here from all figures, or shows them again. It
// says for which keys that is not possible.
func (s *Session) SubtractInjected() {
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
func (s *Session) replayed(look chart.Look) (string, themes.Style) {
	p := s.Shown.Playback()
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

// families holds the common parts of the names of the board's keys, so that a shortened name keeps the
// part that differs. They are learned again when the number of keys changes.
type families struct {
	learned safetext.Families
	board   *model.Board
	keys    int
}

// mostLearned is the greatest number of names that are learned at once. Of more, any are learned.
const mostLearned = 1024

// Families returns the common parts of the names of the keys on the board.
func (s *Session) Families() *safetext.Families {
	f, b := &s.families, s.Shown.Board()
	if f.board == b && f.keys == b.Len() {
		return &f.learned
	}
	f.board, f.keys = b, b.Len()
	n := 0
	for key := range b.Keys() {
		if n++; n > mostLearned {
			break
		}
		f.learned.Learn(s.Name(key))
	}
	return &f.learned
}

// ShortName returns a key's name as Name does, in at most a number of columns. A longer name loses the
// parts that it has in common with other keys.
func (s *Session) ShortName(key string, columns int) string {
	return s.Families().Shorten(s.Name(key), columns, safetext.Ellipsis)
}
