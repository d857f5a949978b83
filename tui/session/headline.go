package session

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// Headline describes the state of a key in one sentence: whether a request is admitted, how much of
// the limit is used, when the next request is admitted, and how many are denied. Clauses that do not
// fit into so many columns are left out from the end.
func (s *Session) Headline(k *model.Watched, l chart.Look, columns int) []widget.Span {
	mark, st := s.Mark(k, l)
	word := map[model.KeyState]string{model.Throttled: "throttled", model.WasThrottled: "free again", model.UnreadableState: "cannot be read",
		model.Silent: "silent", model.LikelyOver: "likely a limiter", model.LikelyState: "likely a limiter"}[k.State(s.Shown.At())]
	if word == "" {
		word = "ok"
	}
	g, t := &k.Gauge, &k.Reading.Target
	age, old := s.Shown.Outdated(k)
	switch {
	case old:
		word, st = "last known "+format.Span(age)+" ago", l.Unknown
	case !g.NextKnown && k.Reading.Err == "" && t.LimitKnown && t.Window > 0:
		word = "used: not known"
	case !g.NextKnown && k.Reading.Err == "":
		word = "limit unknown"
	case g.Near() && !g.Throttled() && k.Reading.Err == "":
		word = "near its limit"
	}
	spans := []widget.Span{widget.Styled(mark+" "+word, st)}
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
	pace, known := g.Pace()
	switch {
	case !g.DeniedInW.Known:
		add("denied: not recorded", l.Dim)
	case g.DeniedInW.N > 0:
		add(format.PerSecond(g.DeniedPerSec)+" turned away", l.Denied)
	case known && pace > 0 && g.Reset != time.Duration(0):
		add(format.PerSecond(pace), l.Dim)
	}
	if g.NextKnown && g.Next == 0 && !old {
		if in, known := s.deniedIn(k); known {
			add("at this rate denied in "+format.Span(in), l.Near)
		}
	}
	for len(spans) > 1 && widget.Width(spans...) > columns {
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
		return widget.Styled("next slot in "+format.Span(g.Next), l.Denied)
	case g.Remaining.Known:
		return widget.Styled("room for "+format.Short(g.Remaining.N), l.Text)
	}
	return widget.Span{}
}

// outlook holds the times until keys will deny requests, calculated once a second of the screen's
// clock.
type outlook struct {
	second int64
	denied map[string]time.Duration // -1: not within a window
}

// deniedIn returns after how long a key denies if its requests go on as in the last seconds.
func (s *Session) deniedIn(k *model.Watched) (time.Duration, bool) {
	if !k.Gauge.RecentKnown {
		return 0, false
	}
	if second := int64(s.Shown.At()) / 1e6; s.outlook.denied == nil || s.outlook.second != second {
		s.outlook = outlook{second, map[string]time.Duration{}}
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
